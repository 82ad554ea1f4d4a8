#include "kernels/Cpu/Workspace.h"
namespace zc::kernels {
uint64_t matmulWorkspaceBound(const MatmulSpec &spec, int threads) { return 1<<20; }
uint64_t convolutionWorkspaceBound(const ConvolutionSpec &spec, int threads) { return 1<<20; }
}
