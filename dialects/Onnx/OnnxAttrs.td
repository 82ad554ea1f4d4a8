#ifndef ZC_DIALECTS_ONNX_ONNXATTRS_TD
#define ZC_DIALECTS_ONNX_ONNXATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "dialects/Onnx/OnnxDialect.td"

def Onnx_ExternalAttr : AttrDef<Onnx_Dialect, "External"> {
  let mnemonic = "external";
  let summary = "Bytes of a tensor in a file, little-endian and row-major";
  let description = [{
    Weights never enter the IR; this says where they are. The importer has
    checked that the bytes lie inside the file.

    ```mlir
    #onnx.external<"model.onnx.data", 4096, 1048576>
    ```
    With a fourth parameter, `true`, they are the bytes of the transposed matrix.
  }];
  let parameters = (ins StringRefParameter<"path of the file">:$file,
                        "uint64_t":$offset, "uint64_t":$length,
                        DefaultValuedParameter<"bool", "false">:$transposed);
  let assemblyFormat = [{
    `<` $file `,` $offset `,` $length (`,` $transposed^)? `>`
  }];
}

#endif
