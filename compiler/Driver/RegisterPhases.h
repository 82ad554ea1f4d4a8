// The phases of a compilation as pipelines of zc-opt.
#ifndef ZC_COMPILER_DRIVER_REGISTERPHASES_H
#define ZC_COMPILER_DRIVER_REGISTERPHASES_H

namespace zc {

/// Registers `--zc-phase-train`, `-step`, `-roles`, `-programs`, `-sharded`,
/// `-fused`, `-sched` and `-llvm`, and `--zc-all-phases`, which take the
/// options of `zc compile`: `--zc-phase-step="--loss mse --mesh dp=2"`. Phases
/// behind
/// `-roles` run on one module: on each role of a pipeline, not around them.
void registerPhases();

} // namespace zc

#endif // ZC_COMPILER_DRIVER_REGISTERPHASES_H
