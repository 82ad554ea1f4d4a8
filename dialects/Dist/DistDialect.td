//===- DistDialect.td - the mesh and how tensors are divided on it --------===//
#ifndef ZC_DIALECTS_DIST_DISTDIALECT_TD
#define ZC_DIALECTS_DIST_DISTDIALECT_TD

include "dialects/Interfaces/MarkedDialect.td"

def Dist_Dialect : MarkedDialect {
  let name = "dist";
  let cppNamespace = "::zc::dist";
  let summary = "tensors divided among the ranks of a mesh, and collectives";
  let description = [{
    The module's attribute `dist.mesh` names the axes of the mesh. A value's
    *sharding* says which axes divide which of its dims, and over which axes the
    value is still *unreduced*: every rank holds a term, and the value is the sum.

    A collective stands first at the whole tensors' types: it changes the
    sharding and nothing else. `--zc-localize` gives every value the type of a
    rank's part; from then on a collective's operand and result are what one rank
    holds. Those with a root, and sending to a neighbour, exist on parts alone.

    | attribute | on | meaning |
    | --- | --- | --- |
    | `dist.mesh = #dist.mesh<dp=4,tp=2>` | module | the axes, slowest first |
    | `dist.sharding = #dist.sharding<dp,_>` | argument, result, `train.state` | how it is divided |
    | `dist.notes = ["..."]` | module | what a user should know |
    | `dist.divisions` (name, kind, type, sharding, why of each) | module | for reports |
    | `dist.whole = tensor<8x4xf32>` | the same, once types are local; a `train.state` with zeros behind a dim | the whole tensor's type, as files know it |
    | `dist.operands`, `dist.results` | op | shardings that the op works with |
    | `dist.traffic = "statistics"` | op | what a reduction of its results carries |
    | `dist.moments = #dist.sharding<dp>` | parameter | how its optimizer states are divided |
  }];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = marks # "void registerAttrs();";
  let dependentDialects = ["::zc::train::TrainDialect"];
}

#endif // ZC_DIALECTS_DIST_DISTDIALECT_TD
