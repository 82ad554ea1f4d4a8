#include "runtime/Simulate/InstructionTimes.h"
#include "runtime/Plan/InstructionKind.h"
#include "runtime/Plan/LibraryCalls.h"
#include "runtime/Plan/StreamNumbers.h"
#include "runtime/Plan/Types.h"
#include "runtime/Plan/Verify.h"

#include <algorithm>
#include <cmath>

namespace zc {
namespace {

/// Tiles are computed in waves, one on each multiprocessor: the share of a
/// wave's places that hold a tile, and of tiles that lie inside the product.
double waveShare(const MatmulEfficiency &matmul,
                 const MeasuredMatmul &product) {
  const int64_t batch = product.batch;
  if (matmul.tileRows == 0)
    return 1;
  auto ceilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  const double tiles = double(ceilDiv(product.m, matmul.tileRows)) *
                       double(ceilDiv(product.n, matmul.tileColumns)) *
                       double(batch);
  const double places = std::ceil(tiles / double(matmul.multiprocessors)) *
                        double(matmul.multiprocessors);
  const double inside = double(product.m) * double(product.n) * double(batch) /
                        (double(matmul.tileRows) * double(matmul.tileColumns));
  // Small products are cut along k as well, so that no place stays empty for
  // long: a wave is at least half full.
  return std::clamp(inside / places, inside / tiles / 2, 1.0);
}

double arithmeticSeconds(const SimulatedDevice &device, bool allowsTf32,
                         const kernels::CallWork &work, double flops) {
  const plan::DataType type = dataType(work.type);
  if (work.product)
    return flops / matmulRate(device, allowsTf32, {*work.product, type});
  if (!work.rate.empty())
    return flops / (peakOf(device, allowsTf32, type) *
                    shareOf(device.efficiency, work.rate));
  // Generated code computes in float32, outside of matrix units.
  return flops /
         (device.flopsPerSecond[plan::F32] * device.efficiency.kernelFlops);
}

} // namespace

double peakOf(const SimulatedDevice &device, bool allowsTf32,
              plan::DataType type) {
  const double f32 = device.flopsPerSecond[plan::F32];
  if (type == plan::F32 && allowsTf32 && device.tf32FlopsPerSecond > 0)
    return device.tf32FlopsPerSecond;
  const double peak = device.flopsPerSecond[type];
  return peak > 0 ? peak : f32;
}

double matmulRate(const SimulatedDevice &device, bool allowsTf32,
                  const MeasuredMatmul &product) {
  const MatmulEfficiency &matmul = device.efficiency.matmul;
  if (double rate = matmul.measured.flopsPerSecond(product); rate > 0)
    return rate;
  return peakOf(device, allowsTf32, product.dtype) * matmul.fraction *
         waveShare(matmul, product);
}

/// A kernel that the host computes: as fast as its memory.
static double hostSeconds(const SimulatedDevice &device,
                          const plan::Instruction &instruction) {
  return device.hostMemoryBytesPerSecond > 0
             ? instruction.bytes() / device.hostMemoryBytesPerSecond
             : 0;
}

/// The elements of a row of a kernel's largest tensor; 1 of a scalar.
static int64_t rowOf(const plan::Program &program,
                     const plan::KernelCall &kernel) {
  int64_t row = 1;
  uint64_t most = 0;
  for (uint32_t index : kernel.buffers()) {
    const plan::TensorType &type = program.buffers(int(index)).type();
    const Result<uint64_t> bytes = byteCount(type);
    if (type.dims_size() == 0 || !bytes.ok() || *bytes <= most)
      continue;
    most = *bytes;
    row = type.dims(type.dims_size() - 1);
  }
  return std::max<int64_t>(1, row);
}

MeasuredInstruction describe(const plan::Program &program,
                             const plan::Instruction &instruction) {
  MeasuredInstruction found{kindOf(instruction),
                            operatorsOfLabel(instruction.label()),
                            instruction.flops(), instruction.bytes()};
  if (instruction.has_kernel())
    found.form = {rowOf(program, instruction.kernel())};
  else
    found.form = workOf(program, instruction).form;
  return found;
}

double secondsOf(const SimulatedDevice &device, bool allowsTf32,
                 const plan::Program &program,
                 const plan::Instruction &instruction) {
  if (isOnHost(instruction))
    return hostSeconds(device, instruction);
  const kernels::CallWork work = workOf(program, instruction);
  if (!device.measured.empty() && !work.product &&
      !streams::isOfCopies(instruction.stream()))
    if (const std::optional<double> seconds =
            device.measured.find(describe(program, instruction)))
      return device.launchSeconds + *seconds;
  const double arithmetic =
      arithmeticSeconds(device, allowsTf32, work, instruction.flops());
  // Measured products have had their operands brought from memory as well.
  if (work.product && !device.efficiency.matmul.measured.empty())
    return device.launchSeconds + arithmetic;
  const double rate = device.bytesPerSecond * device.efficiency.bytes;
  double traffic = rate > 0 ? instruction.bytes() / rate : 0;
  if (streams::isOfCopies(instruction.stream())) {
    traffic = device.hostLatencySeconds;
    if (device.hostBytesPerSecond > 0)
      traffic += instruction.bytes() / 2 / device.hostBytesPerSecond;
  }
  return device.launchSeconds + std::max(arithmetic, traffic);
}

} // namespace zc
