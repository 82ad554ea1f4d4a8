#include "runtime/Device/Cuda/Executables.h"

namespace zc::cuda {
namespace {

class KernelExecutable final : public CudaExecutable {
public:
  KernelExecutable(const Driver &driver, const KernelLaunch &launch,
                   CUfunction function, unsigned threads)
      : driver(driver), function(function), grid(unsigned(launch.grid)),
        threads(threads), buffers(launch.buffers) {
    for (void *&buffer : buffers)
      parameters.push_back(&buffer);
  }

  Status enqueue(CUstream stream) override {
    ZC_CUDA_CALL(driver, cuLaunchKernel, function, grid, 1, 1, threads, 1, 1,
                 /*sharedMemBytes=*/0, stream, parameters.data(), nullptr);
    return Status();
  }

private:
  const Driver &driver;
  CUfunction function;
  unsigned grid, threads;
  std::vector<void *> buffers;
  std::vector<void *> parameters; // addresses of `buffers`
};

class CopyExecutable final : public CudaExecutable {
public:
  CopyExecutable(const Driver &driver, const CopyLaunch &launch, bool fromHost,
                 bool toHost)
      : driver(driver), launch(launch), fromHost(fromHost), toHost(toHost) {}

  Status enqueue(CUstream stream) override {
    if (fromHost)
      ZC_CUDA_CALL(driver, cuMemcpyHtoDAsync, destination(), launch.source,
                   launch.bytes, stream);
    else if (toHost)
      ZC_CUDA_CALL(driver, cuMemcpyDtoHAsync, launch.destination, source(),
                   launch.bytes, stream);
    else
      ZC_CUDA_CALL(driver, cuMemcpyDtoDAsync, destination(), source(),
                   launch.bytes, stream);
    return Status();
  }

private:
  CUdeviceptr source() const {
    return reinterpret_cast<CUdeviceptr>(launch.source);
  }
  CUdeviceptr destination() const {
    return reinterpret_cast<CUdeviceptr>(launch.destination);
  }

  const Driver &driver;
  CopyLaunch launch;
  bool fromHost, toHost;
};

class GraphExecutable final : public CudaExecutable {
public:
  GraphExecutable(const Driver &driver, CUgraphExec graph)
      : driver(driver), graph(graph) {}
  ~GraphExecutable() override { driver.cuGraphExecDestroy(graph); }

  Status enqueue(CUstream stream) override {
    ZC_CUDA_CALL(driver, cuGraphLaunch, graph, stream);
    return Status();
  }

private:
  const Driver &driver;
  CUgraphExec graph;
};

/// `signature`: teams, threads of a team, the number of buffers, the bytes of
/// each; see passes/Codegen/Cuda/DistributeThreads.cpp.
Status checkLaunch(const KernelLaunch &launch,
                   const std::vector<int64_t> &signature) {
  auto bad = [&](const auto &...what) {
    return makeError(StatusCode::Corrupt, "kernel '", launch.symbol,
                     "' is called wrongly: ", what...);
  };
  if (signature.size() < 3 || signature[1] < 1 || signature[1] > 1024 ||
      signature.size() != 3 + uint64_t(signature[2]))
    return bad("its signature cannot be read");
  if (launch.grid != signature[0])
    return bad("over a grid of ", launch.grid, "; its grid is ", signature[0]);
  if (int64_t(launch.buffers.size()) != signature[2])
    return bad("with ", launch.buffers.size(), " buffers; it has ",
               signature[2]);
  for (size_t i = 0; i < launch.buffers.size(); ++i)
    if (launch.bufferBytes[i] != uint64_t(signature[3 + i]))
      return bad("its buffer ", i, " has ", signature[3 + i], " bytes, not ",
                 launch.bufferBytes[i]);
  return Status();
}

} // namespace

Result<std::unique_ptr<Module>>
Module::load(const Driver &driver, const CodeImage &image, CUstream stream) {
  std::string bytes(image.bytes); // PTX must end in a zero
  std::string log(4096, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  CUmodule module = nullptr;
  Status status = driver.check(
      driver.cuModuleLoadDataEx(&module, bytes.c_str(), 2, options, values),
      "cuModuleLoadDataEx");
  if (!status.ok())
    return makeError(StatusCode::Corrupt, "code object '", image.name,
                     "' cannot be loaded: ", status.message(), ' ',
                     log.c_str());
  return std::unique_ptr<Module>(
      new Module(driver, image.name, module, stream));
}

Module::~Module() { driver.cuModuleUnload(module); }

Result<std::vector<int64_t>>
Module::readSignature(const std::string &symbol) const {
  CUdeviceptr address = 0;
  size_t bytes = 0;
  std::string global = symbol + "_signature";
  if (driver.cuModuleGetGlobal(&address, &bytes, module, global.c_str()) !=
          CUDA_SUCCESS ||
      bytes % sizeof(int64_t) != 0)
    return makeError(StatusCode::Corrupt, "code object '", name,
                     "' does not say how kernel '", symbol,
                     "' is called; compile the model again");
  std::vector<int64_t> numbers(bytes / sizeof(int64_t));
  ZC_CUDA_CALL(driver, cuMemcpyDtoHAsync, numbers.data(), address, bytes,
               stream);
  ZC_CUDA_CALL(driver, cuStreamSynchronize, stream);
  return numbers;
}

ExecutableResult Module::makeKernel(const KernelLaunch &launch) const {
  CUfunction function = nullptr;
  CUresult found =
      driver.cuModuleGetFunction(&function, module, launch.symbol.c_str());
  if (found != CUDA_SUCCESS)
    return makeError(StatusCode::Corrupt, "code object '", name,
                     "' has no kernel '", launch.symbol, "'");
  ZC_ASSIGN_OR_RETURN(std::vector<int64_t> signature,
                      readSignature(launch.symbol));
  ZC_RETURN_IF_ERROR(checkLaunch(launch, signature));
  return std::unique_ptr<Executable>(std::make_unique<KernelExecutable>(
      driver, launch, function, unsigned(signature[1])));
}

ExecutableResult makeCopy(const Driver &driver, const CopyLaunch &launch,
                          bool fromHost, bool toHost) {
  return std::unique_ptr<Executable>(
      std::make_unique<CopyExecutable>(driver, launch, fromHost, toHost));
}

ExecutableResult makeGraph(const Driver &driver, CUgraph graph) {
  CUgraphExec executable = nullptr;
  Status status = driver.check(driver.cuGraphInstantiate(&executable, graph, 0),
                               "cuGraphInstantiate");
  driver.cuGraphDestroy(graph);
  ZC_RETURN_IF_ERROR(status);
  return std::unique_ptr<Executable>(
      std::make_unique<GraphExecutable>(driver, executable));
}

} // namespace zc::cuda
