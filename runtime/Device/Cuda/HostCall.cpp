#include "runtime/Device/Cuda/HostCall.h"

namespace zc::cuda {
namespace {

class HostCall final : public CudaExecutable {
public:
  HostCall(const Driver &driver, Device &host,
           std::unique_ptr<Executable> executable, HostFailure &failure)
      : driver(driver), host(host), executable(std::move(executable)),
        failure(failure) {}

  Status enqueue(CUstream stream) override {
    ZC_CUDA_CALL(driver, cuLaunchHostFunc, stream, &HostCall::call, this);
    return Status();
  }

private:
  static void CUDA_CB call(void *self) { static_cast<HostCall *>(self)->run(); }

  void run() {
    host.enterThread();
    Status status = host.launch(*executable, 0);
    if (status.ok())
      status = host.synchronize(0);
    if (!status.ok())
      failure.note(status.withContext("on the host"));
  }

  const Driver &driver;
  Device &host;
  std::unique_ptr<Executable> executable;
  HostFailure &failure;
};

} // namespace

ExecutableResult makeHostCall(const Driver &driver, Device &host,
                              std::unique_ptr<Executable> executable,
                              HostFailure &failure) {
  return std::unique_ptr<Executable>(
      std::make_unique<HostCall>(driver, host, std::move(executable), failure));
}

} // namespace zc::cuda
