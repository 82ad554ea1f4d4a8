// How long instructions take on a described device.
#ifndef ZC_RUNTIME_SIMULATE_INSTRUCTIONTIMES_H
#define ZC_RUNTIME_SIMULATE_INSTRUCTIONTIMES_H

#include "runtime/Simulate/Cluster.h"

namespace zc {

/// Seconds of an instruction that is no collective: its launch, and the longer
/// of its arithmetic and of its memory traffic (the roofline model, Williams,
/// Waterman and Patterson 2009), each at its class's share of the peak;
/// or what instructions of its kind took that were timed.
double secondsOf(const SimulatedDevice &device, bool allowsTf32,
                 const plan::Program &program,
                 const plan::Instruction &instruction);

/// An instruction as it is looked for among those that were timed, without
/// seconds.
MeasuredInstruction describe(const plan::Program &program,
                             const plan::Instruction &instruction);

/// The peak for products of a type, in FLOP/s.
double peakOf(const SimulatedDevice &device, bool allowsTf32,
              plan::DataType type);

/// FLOP/s of a product of this form and type.
double matmulRate(const SimulatedDevice &device, bool allowsTf32,
                  const MeasuredMatmul &product);

} // namespace zc

#endif // ZC_RUNTIME_SIMULATE_INSTRUCTIONTIMES_H
