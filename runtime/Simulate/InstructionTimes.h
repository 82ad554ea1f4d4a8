// How long instructions take on a described device.
#ifndef ZC_RUNTIME_SIMULATE_INSTRUCTIONTIMES_H
#define ZC_RUNTIME_SIMULATE_INSTRUCTIONTIMES_H

#include "runtime/Simulate/Cluster.h"

namespace zc {

/// Seconds of an instruction that is no collective: its launch, and the longer
/// of its arithmetic and of its memory traffic (the roofline model, Williams,
/// Waterman and Patterson 2009), each at its class's share of the peak.
double secondsOf(const SimulatedDevice &device, bool allowsTf32,
                 const plan::Program &program,
                 const plan::Instruction &instruction);

/// FLOP/s of a product, whose operands have this type. `batch` products of the
/// same size are computed at once.
double matmulRate(const SimulatedDevice &device, bool allowsTf32,
                  const MeasuredMatmul &product, int64_t batch);

} // namespace zc

#endif // ZC_RUNTIME_SIMULATE_INSTRUCTIONTIMES_H
