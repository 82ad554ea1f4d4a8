#include "compiler/Driver/ExpertReport.h"

#include "dialects/Train/ExpertChoices.h"
#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/StateLookup.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Analysis/Roles.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace zc;
using namespace zc::train;

static constexpr llvm::StringLiteral kLayersAttr = "train.experts";
static constexpr llvm::StringLiteral kParametersAttr = "train.parameters";

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The elements of a parameter, or of several that are stacked, each counted
/// once.
static int64_t countElements(Value value, llvm::DenseSet<StateOp> &counted) {
  if (auto view = value.getDefiningOp<ReshapeOp>())
    return countElements(view.getInput(), counted);
  if (auto stack = value.getDefiningOp<ConcatOp>()) {
    int64_t count = 0;
    for (Value each : stack.getInputs())
      count += countElements(each, counted);
    return count;
  }
  StateOp state = findState(value);
  if (!state || !counted.insert(state).second)
    return 0;
  return state.getTensorType().getNumElements();
}

static DictionaryAttr describe(ArrayRef<GroupedMatmulOp> products) {
  GroupedMatmulOp first = products.front();
  llvm::DenseSet<StateOp> counted;
  int64_t parameters = 0;
  double flops = 0;
  for (GroupedMatmulOp product : products) {
    parameters += countElements(product.getWeights(), counted);
    flops += product.getFlops();
  }
  for (Operation *user : first.getGroups().getUsers())
    if (auto gather = dyn_cast<GatherOp>(user))
      parameters += countElements(gather.getTable(), counted);
  Builder builder(first.getContext());
  auto entry = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  return builder.getDictionaryAttr(
      {entry("experts", first.getExperts()),
       entry("chosen", countChoices(first)),
       entry("rows", typeOf(first.getGroups()).getDimSize(0)),
       entry("parameters", parameters), entry("flops", int64_t(flops)),
       entry("limited", first.getRoomCapacity().has_value())});
}

void zc::noteExperts(ModuleOp module) {
  llvm::MapVector<Value, SmallVector<GroupedMatmulOp>> layers;
  module.walk([&](GroupedMatmulOp op) {
    if (typeOf(op.getRows()).getRank() == 2)
      layers[op.getGroups()].push_back(op);
  });
  if (layers.empty())
    return;
  SmallVector<Attribute> found;
  for (auto &[groups, products] : layers)
    found.push_back(describe(products));
  int64_t parameters = 0;
  for (auto state : module.getOps<StateOp>())
    if (state.getKind() == kParameter)
      parameters += state.getTensorType().getNumElements();
  Builder builder(module.getContext());
  module->setAttr(kLayersAttr, builder.getArrayAttr(found));
  module->setAttr(kParametersAttr, builder.getI64IntegerAttr(parameters));
}

/// The rooms' rows over a group's rows, however many micro-batches the step
/// has.
static double roomOverRows(ExpertSlotsOp slots) {
  auto groups = typeOf(slots.getGroups());
  return double(slots.getExperts()) * double(slots.getCapacity()) /
         double(groups.getDimSize(1));
}

void zc::noteRooms(ModuleOp module, bool allLimited) {
  auto layers = module->getAttrOfType<ArrayAttr>(kLayersAttr);
  if (!layers)
    return;
  SmallVector<double> rooms;
  for (ModuleOp role : getRoles(module))
    if (auto step = role.lookupSymbol<func::FuncOp>(kStepProgram))
      step.walk(
          [&](ExpertSlotsOp slots) { rooms.push_back(roomOverRows(slots)); });
  if (rooms.size() != layers.size())
    return;
  Builder builder(module.getContext());
  SmallVector<Attribute> found;
  for (auto [layer, room] :
       llvm::zip(layers.getAsRange<DictionaryAttr>(), rooms)) {
    NamedAttrList entries(layer);
    entries.set("room", builder.getF64FloatAttr(room));
    bool limited = allLimited || layer.getAs<IntegerAttr>("limited").getInt();
    entries.set("multiplied", builder.getF64FloatAttr(limited ? room : 1));
    found.push_back(entries.getDictionary(module.getContext()));
  }
  module->setAttr(kLayersAttr, builder.getArrayAttr(found));
}

std::vector<std::pair<std::string, std::string>>
zc::listExperts(ModuleOp module) {
  std::vector<std::pair<std::string, std::string>> settings;
  auto layers = module->getAttrOfType<ArrayAttr>(kLayersAttr);
  if (!layers)
    return settings;
  auto parameters = module->getAttrOfType<IntegerAttr>(kParametersAttr);
  settings.push_back({"moe.parameters", std::to_string(parameters.getInt())});
  for (auto layer : layers.getAsRange<DictionaryAttr>()) {
    std::string text;
    for (const char *name :
         {"experts", "chosen", "rows", "parameters", "flops"})
      text += std::to_string(layer.getAs<IntegerAttr>(name).getInt()) + " ";
    for (const char *name : {"room", "multiplied"}) {
      auto factor = layer.getAs<FloatAttr>(name);
      text += std::to_string(factor ? factor.getValueAsDouble() : 1.0) + " ";
    }
    text.pop_back();
    settings.push_back(
        {"moe.layer." + std::to_string(settings.size() - 1), text});
  }
  return settings;
}
