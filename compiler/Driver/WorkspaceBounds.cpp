#include "compiler/Driver/WorkspaceBounds.h"

#include "compiler/Export/CallDescription.h"
#include "compiler/Export/CollectiveShape.h"
#include "dialects/Dist/DistDialect.h"

using namespace mlir;
using namespace zc;

static uint64_t boundCollective(dist::CollectiveOpInterface op) {
  std::optional<CollectiveShape> shape =
      getCollectiveShape(op, op->getName().stripDialect(), op.getAxes(),
                         cast<ShapedType>(op->getOperand(0).getType()),
                         cast<ShapedType>(op->getResult(0).getType()));
  return shape ? costOf(*shape).workspaceBytes : 0;
}

/// `bound` bounds a call of any kind.
template <typename Bound>
static uint64_t getBound(Operation *op, const Bound &bound) {
  if (auto collective = dyn_cast<dist::CollectiveOpInterface>(op))
    return boundCollective(collective);
  std::optional<DescribedCall> described = describeOp(op);
  return described ? bound(*described->kind, described->call) : 0;
}

uint64_t zc::getWorkspaceBound(Operation *op, int64_t threads) {
  return getBound(op, [&](const kernels::CallKind &kind, const auto &call) {
    return kind.cpuWorkspace(call, int(threads));
  });
}

uint64_t zc::getCudaWorkspaceBound(Operation *op, int64_t) {
  return getBound(op, [](const kernels::CallKind &kind, const auto &call) {
    return kind.cudaWorkspace(call);
  });
}
