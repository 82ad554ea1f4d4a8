//===- DistAttrs.td - meshes and shardings --------------------------------===//
#ifndef ZC_DIALECTS_DIST_DISTATTRS_TD
#define ZC_DIALECTS_DIST_DISTATTRS_TD

include "dialects/Dist/DistDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Dist_MeshAttr : AttrDef<Dist_Dialect, "Mesh"> {
  let mnemonic = "mesh";
  let summary = "named axes, slowest first";
  let description = [{
    `#dist.mesh<dp=4,tp=2>`: 8 ranks; a rank is the row-major index of its
    coordinates. Names are unique, sizes at least 1.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names,
                        ArrayRefParameter<"int64_t">:$sizes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    unsigned getNumAxes() const { return getNames().size(); }
    int64_t getNumRanks() const;
    /// The index of an axis, or -1.
    int findAxis(::llvm::StringRef name) const;
    /// A rank's coordinates, one per axis.
    ::llvm::SmallVector<int64_t> getCoordinates(int64_t rank) const;
  }];
}

def Dist_ShardingAttr : AttrDef<Dist_Dialect, "Sharding"> {
  let mnemonic = "sharding";
  let summary = "the axes that divide each dim, and those that are not reduced yet";
  let description = [{
    `#dist.sharding<dp,_,tp>`: dim 0 is divided over dp, dim 1 whole, dim 2
    divided over tp. Several axes of one dim are joined, slowest first: `dp+ep`.
    `#dist.sharding<_,_ unreduced tp+dp>`: a sum over tp and dp is still to be
    taken. A tensor without dims: `#dist.sharding<>`.
  }];
  let parameters = (ins
      ArrayRefParameter<"::mlir::ArrayAttr">:$dims, // of StringAttr
      ArrayRefParameter<"::mlir::StringAttr">:$unreduced);
  let hasCustomAssemblyFormat = 1;
}

#endif // ZC_DIALECTS_DIST_DISTATTRS_TD
