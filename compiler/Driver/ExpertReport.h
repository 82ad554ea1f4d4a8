// The facts about experts that `zc inspect` shows, found while the model is
// still whole.
#ifndef ZC_COMPILER_DRIVER_EXPERTREPORT_H
#define ZC_COMPILER_DRIVER_EXPERTREPORT_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <utility>
#include <vector>

namespace zc {

/// Notes on `module` its layers of experts: their number, how many a token
/// chooses, the rows, the parameters of all experts and a forward's FLOPs for
/// the chosen. Before experts are in rooms.
void noteExperts(mlir::ModuleOp module);

/// Notes how many rows the rooms of each layer have, in which programs of a
/// step (of all roles) compute experts. A room with a limit is multiplied
/// whole, others as far as they are filled; `allLimited`: --moe-capacity limits
/// all.
void noteRooms(mlir::ModuleOp module, bool allLimited);

/// The noted facts as settings of the artifact: "moe.layer.0" and so on, and
/// "moe.parameters"; see compiler/Export/InspectExperts.cpp.
std::vector<std::pair<std::string, std::string>>
listExperts(mlir::ModuleOp module);

} // namespace zc

#endif
