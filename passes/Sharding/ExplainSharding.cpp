//===- ExplainSharding.cpp - --zc-explain-sharding ------------------------===//
#include "dialects/Onnx/Location.h"
#include "dialects/Train/ProgramBuilder.h"
#include "passes/Analysis/OpWords.h"
#include "passes/Sharding/Layout.h"
#include "passes/Sharding/Passes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_EXPLAINSHARDINGPASS
#include "passes/Sharding/Passes.h.inc"

namespace {

/// Gathers that differ in their places alone.
struct GatherKind {
  std::string what, where;
  std::vector<std::string> places;
};

struct ExplainSharding : public impl::ExplainShardingPassBase<ExplainSharding> {
  void runOnOperation() override {
    mesh = dist::getMesh(getOperation());
    if (!mesh)
      return;
    Builder builder(&getContext());
    if (auto before =
            getOperation()->getAttrOfType<ArrayAttr>(dist::kNotesAttr))
      for (auto note : before.getAsRange<StringAttr>())
        notes.push_back(note.str());
    for (auto program : getOperation().getOps<func::FuncOp>())
      findArguments(program);
    for (auto state : getOperation().getOps<StateOp>())
      explainState(state);
    for (auto members : getOperation().getOps<ModuleOp>())
      for (auto member : members.getOps<StateOp>())
        explainMember(member);
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      if (program.getSymName() == kInitProgram)
        continue;
      explainInputs(program);
      for (Operation &op : program.getBody().front().without_terminator())
        explainValue(&op);
    }
    addGathers();
    getOperation()->setAttr(dist::kDivisionsAttr,
                            builder.getArrayAttr(divisions));
    if (notes.empty())
      return;
    SmallVector<StringRef> texts(notes.begin(), notes.end());
    getOperation()->setAttr(dist::kNotesAttr, builder.getStrArrayAttr(texts));
  }

private:
  void add(StringRef name, StringRef kind, Type type, const Layout &layout,
           const Twine &why) {
    Builder builder(&getContext());
    auto entry = [&](StringRef key, Attribute value) {
      return builder.getNamedAttr(key, value);
    };
    divisions.push_back(builder.getDictionaryAttr(
        {entry(dist::kDivisionName, builder.getStringAttr(name)),
         entry(dist::kDivisionKind, builder.getStringAttr(kind)),
         entry(dist::kDivisionType, TypeAttr::get(type)),
         entry(dist::kDivisionSharding, layout.toAttr(mesh)),
         entry(dist::kDivisionWhy, builder.getStringAttr(why))}));
  }

  void explainState(StateOp state) {
    auto sharding =
        state->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
    Layout layout = sharding ? Layout::from(sharding, mesh)
                             : Layout::replicated(state.getTensorType());
    std::string why = "whole";
    if (state.getWhy())
      why = state.getWhy()->str();
    else if (!layout.isReplicated() && state.getKind() == kAccumulator)
      why = "as what is added to it";
    else if (!layout.isReplicated())
      why = state.getParameter() ? "as '" + state.getParameter()->str() + "'"
                                 : "flag --zero";
    if (Value argument = arguments.lookup(state.getSymNameAttr()))
      why += fateOf(argument);
    add(state.getSymName(), stringifyStateKind(state.getKind()),
        state.getWholeType(), layout, why);
  }

  /// Where the first program that reads a state has it.
  void findArguments(func::FuncOp program) {
    for (BlockArgument argument : program.getArguments())
      if (FlatSymbolRefAttr state = stateOf(argument);
          state && !argument.use_empty())
        arguments.insert({state.getAttr(), argument});
  }

  static std::string axesOf(dist::CollectiveOpInterface collective) {
    return llvm::join(collective.getAxes().getAsValueRange<StringAttr>(), ", ");
  }

  /// The op that reads a value after all collectives.
  static Operation *readerOf(Operation *op) {
    while (isa<dist::CollectiveOpInterface>(op) && !op->use_empty())
      op = *op->user_begin();
    return op;
  }

  /// "; gathered whole over tp for softmax of fc", of all that is sent.
  static std::string fateOf(Value value) {
    std::string fate;
    llvm::raw_string_ostream os(fate);
    for (Operation *user : value.getUsers()) {
      auto collective = dyn_cast<dist::CollectiveOpInterface>(user);
      if (!collective || !collective.getWhatIsSent())
        continue;
      bool gathers = isa<dist::AllGatherOp>(user);
      os << "; " << (gathers ? "gathered whole" : wordsFor(user)) << " over "
         << axesOf(collective);
      Operation *reader = readerOf(user);
      os << " for " << wordsFor(reader);
      if (std::string place = placeOf(reader->getLoc()); !place.empty())
        os << " of " << place;
    }
    return fate;
  }

  /// A parameter in a vector of ZeRO is divided as the vector is, too.
  void explainMember(StateOp member) {
    FlatSymbolRefAttr unit = member.getUnitAttr();
    if (!unit)
      return;
    auto sharding =
        member->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
    StringAttr said = member.getWhyAttr();
    add(member.getSymName(), stringifyStateKind(member.getKind()),
        member.getTensorType(),
        sharding ? Layout::from(sharding, mesh)
                 : Layout::replicated(member.getTensorType()),
        (said ? said.getValue() + "; " : Twine()) + "flag --zero: in '" +
            unit.getValue() + "'");
  }

  void explainInputs(func::FuncOp program) {
    for (BlockArgument argument : program.getArguments()) {
      auto name = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                       kInputAttr);
      if (!name || !seen.insert(("input " + name.getValue()).str()).second)
        continue;
      Layout layout = layoutOf(argument, mesh);
      add(name, "input", argument.getType(), layout,
          (layout.isReplicated() ? "whole" : "flag --mesh: its samples") +
              fateOf(argument));
    }
  }

  /// "layers.0.fc/Gemm", or the node's name; empty for what zc made.
  static std::string placeOf(Location location) {
    auto origin = onnx::getOrigin(location);
    if (!origin || origin->operatorName == onnx::kInitializer)
      return "";
    if (origin->module.empty())
      return origin->node.str();
    return (origin->module + "/" + origin->operatorName).str();
  }

  /// The name of an operand in a report.
  std::string nameOf(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return zc::nameOf(argument).str();
    return placeOf(value.getLoc());
  }

  /// The name of the input of which an op of zc's own is made by such alone;
  /// else nothing.
  static std::string inputOf(Operation *op) {
    while (op && op->getNumOperands() > 0 && placeOf(op->getLoc()).empty()) {
      if (auto argument = dyn_cast<BlockArgument>(op->getOperand(0)))
        return zc::nameOf(argument).str();
      op = op->getOperand(0).getDefiningOp();
    }
    return "";
  }

  void explainValue(Operation *op) {
    if (op->getNumResults() == 0 || op->getNumOperands() == 0)
      return;
    std::string place = placeOf(op->getLoc());
    // The gather of an input, for a shift of it, has no place of its own.
    noteGather(op, place.empty() ? inputOf(op) : place);
    if (place.empty())
      return;
    std::string name = place + ": " + op->getName().getStringRef().str();
    if (!seen.insert(name).second)
      return;
    Layout layout = layoutOf(op->getResult(0), mesh);
    add(name, "value", op->getResult(0).getType(), layout,
        reasonOf(op, layout) + fateOf(op->getResult(0)));
  }

  std::string reasonOf(Operation *op, const Layout &layout) {
    llvm::StringSet<> from;
    for (Value operand : op->getOperands()) {
      Layout theirs = layoutOf(operand, mesh);
      std::string name = nameOf(operand);
      if (!theirs.isReplicated() && !name.empty())
        from.insert(name);
    }
    if (layout.isReplicated() && from.empty())
      return "whole";
    SmallVector<StringRef> names(from.keys().begin(), from.keys().end());
    llvm::sort(names);
    std::string text = "by the rule of " + wordsFor(op);
    if (!names.empty())
      text += ", from " + llvm::join(names, ", ");
    return text;
  }

  /// Layers gather alike: each kind is noted once, with the first place.
  void noteGather(Operation *op, StringRef place) {
    auto gather = dyn_cast<dist::AllGatherOp>(op);
    if (!gather || gather.getTraffic() != dist::kActivations || place.empty())
      return;
    auto program = op->getParentOfType<func::FuncOp>();
    std::string what, where;
    llvm::raw_string_ostream os(what), end(where);
    os << wordsForProgram(program.getSymName()) << " all-gathers "
       << wordsFor(cast<ShapedType>(gather.getType()));
    end << " over " << axesOf(cast<dist::CollectiveOpInterface>(op));
    if (Operation *user = op->use_empty() ? nullptr : *op->user_begin())
      end << (user->hasTrait<OpTrait::ReturnLike>()
                  ? " for its result"
                  : " before " + wordsFor(user));
    auto known = llvm::find_if(gathers, [&](const GatherKind &kind) {
      return kind.what == what && kind.where == where;
    });
    if (known == gathers.end())
      known = gathers.insert(known, {what, where, {}});
    if (!llvm::is_contained(known->places, place))
      known->places.push_back(place.str());
  }

  void addGathers() {
    for (const GatherKind &kind : gathers) {
      std::string note = kind.what + " of " + kind.places.front();
      if (kind.places.size() > 1)
        note += " and " + std::to_string(kind.places.size() - 1) + " more";
      note += kind.where;
      if (!llvm::is_contained(notes, note))
        notes.push_back(note);
    }
  }

  dist::MeshAttr mesh;
  SmallVector<Attribute> divisions;
  DenseMap<Attribute, Value> arguments; // by their states' names
  llvm::StringSet<> seen;
  std::vector<std::string> notes;
  std::vector<GatherKind> gathers;
};

} // namespace
} // namespace zc
