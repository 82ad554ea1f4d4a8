// Gradients and parameters that ranks send, compared with ZeRO-1.
#ifndef ZC_COMPILER_EXPORT_DATAPARALLEL_H
#define ZC_COMPILER_EXPORT_DATAPARALLEL_H

#include "runtime/Plan/Manifest.pb.h"
#include "runtime/Plan/Mesh.h"

namespace zc {

/// Whether it moves gradients or parameters along axes that divide samples.
bool isOfDataParallel(const plan::CollectiveCall &call);

/// The bytes that a rank of the role sends in a step of ZeRO-1: (N-1)/N of its
/// gradients and of its parameters, by what the ranks along tp and pp leave it.
/// N is the number of ranks that hold a parameter, so that of experts other
/// than of the rest. Gradients are as wide as --reduce-precision has it,
/// parameters as what the forward reads.
double sentByZeroOne(const plan::Manifest &manifest, const plan::Role &role,
                     const Mesh &mesh);

} // namespace zc

#endif // ZC_COMPILER_EXPORT_DATAPARALLEL_H
