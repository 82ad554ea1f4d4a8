//===- Passes.td - experts that only some tokens choose -------------------===//
#ifndef ZC_PASSES_EXPERTS_PASSES_TD
#define ZC_PASSES_EXPERTS_PASSES_TD

include "mlir/Pass/PassBase.td"

def DispatchExpertsPass : Pass<"zc-dispatch-experts", "::mlir::ModuleOp"> {
  let summary = "give each expert's tokens room of a fixed size";
  let description = [{
    Products by the same groups, and what is computed between them row by row, are
    done in rooms [experts, groups capacity, ..] instead of rows: each group of
    tokens, a sample by default, has `capacity` times an even share of room for
    each expert. A row that finds none gives zeros. Without a capacity there is
    room for all tokens of the group, and empty places are not multiplied.

    A layer whose products say what room the model's file gives it
    (`room_capacity` rows of an expert in each of `room_groups` groups)
    has this where no capacity is given.

    With `axis` the experts are divided: their weights over it, and rows go to
    them and back (`train.place_experts`). Which places are empty goes with the
    rows, as minus infinity in them. Parameters of one expert each that the model
    stacks become the members of a vector, as those of a unit of ZeRO.

    ```mlir
    %1 = train.grouped_matmul %x, %w, %groups, %ids {experts = 8 : i64}
    // becomes
    %slots, %rows, %counts = train.expert_slots %groups ...
    %2 = train.exchange_rows %x, %rows, %slots {mark_empty} ...
    %3 = train.place_experts %2 {to_experts}
    %used = -1 where the first element of a row of %3 is minus infinity, else an id
    %4 = train.grouped_matmul %3, %w, %used, %ids {experts = 8 : i64, filled = 0.25}
    %5 = train.place_experts %4
    %1 = train.exchange_rows %5, %slots, %rows ...
    ```
    with reshapes and transposes between.
  }];
  let options = [
    Option<"capacity", "capacity", "double", "0",
           "room as a multiple of an even share; 0: for all tokens">,
    Option<"groupTokens", "group-tokens", "int64_t", "0",
           "tokens that share room; 0: a sample's">,
    Option<"axis", "axis", "std::string", "\"\"",
           "the axis that divides experts; empty: none does">,
    Option<"ranks", "ranks", "int64_t", "1", "its size">,
    Option<"ownRooms", "own-rooms", "bool", "false",
           "only layers whose rooms are in the model's file">,
    Option<"packParameters", "pack-parameters", "bool", "true",
           "parameters of one expert each become a vector that ranks divide">,
  ];
  let statistics = [
    Statistic<"numLayers", "num-layers", "Layers of experts">
  ];
  let dependentDialects = ["::zc::train::TrainDialect",
                           "::zc::dist::DistDialect"];
}

def PlaceExpertsPass : Pass<"zc-place-experts", "::mlir::ModuleOp"> {
  let summary = "say how rows of experts are divided, before and after";
  let description = [{
    Requires the mesh. `train.place_experts` becomes a `dist.reshard`: to experts,
    dim 0 is divided over `axis` and dim 1 over the other axes that divide
    samples; back, dim 1 over all of them. Ranks of `sp` are sent the same rows:
    each takes a part of dim 1, if it divides, and they bring them together before
    these go back.
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"ep\"",
           "the axis that divides experts">,
    ListOption<"batchAxes", "batch-axes", "std::string",
               "the axes that divide the batch; default dp and ep">
  ];
  let dependentDialects = ["::zc::dist::DistDialect"];
}

#endif // ZC_PASSES_EXPERTS_PASSES_TD
