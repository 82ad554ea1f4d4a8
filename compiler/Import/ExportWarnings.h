// Files that may hold another network than their author wrote, as far as they
// tell who made them and how.
#ifndef ZC_COMPILER_IMPORT_EXPORTWARNINGS_H
#define ZC_COMPILER_IMPORT_EXPORTWARNINGS_H

#include "compiler/Import/Import.h"
#include "compiler/OnnxModel/ModelFile.h"

#include "mlir/IR/Location.h"

namespace zc {

/// Of weights that an exporter has merged, folded or parted.
void warnOfExport(mlir::Location location, const ModelFile &file);

/// Of a module that PyTorch exported in evaluation mode, which leaves dropout
/// out. Only batch normalisation tells: a file without any, and without
/// dropout, may be of a module that has none.
void warnOfEvaluationMode(mlir::Location location,
                          const proto::ModelProto &model,
                          const ModelImportOptions &options);

} // namespace zc

#endif
