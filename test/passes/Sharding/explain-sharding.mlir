// RUN: zc-opt %s --zc-explain-sharding | FileCheck %s

// Tests that states and inputs are listed with who divided them, values with
// the tensors that they are divided as, and that a gather is a note.
// CHECK: dist.divisions = [
// CHECK-SAME: {kind = "parameter", name = "w", sharding = #dist.sharding<_,tp>, type = tensor<4x6xf32>, why = "rule auto"}
// CHECK-SAME: {kind = "input", name = "x", sharding = #dist.sharding<_,_>, type = tensor<8x4xf32>, why = "whole"}
// CHECK-SAME: {kind = "value", name = "fc: train.matmul", sharding = #dist.sharding<_,tp>, type = tensor<8x6xf32>, why = "by the rule of a matrix product, from w; gathered whole over tp for softmax of fc"}
// CHECK-SAME: dist.notes = ["the step all-gathers [8, 6] of fc over tp before softmax", "evaluate all-gathers [8, 4] of x over tp before slice"]
module attributes {dist.mesh = #dist.mesh<tp=2>} {
  train.state @w "parameter" : tensor<4x6xf32> {dist.sharding = #dist.sharding<_,tp>, why = "rule auto"}
  func.func @step(%w: tensor<4x6xf32> {train.state = @w, dist.sharding = #dist.sharding<_,tp>},
                  %x: tensor<8x4xf32> {train.input = "x"}) -> tensor<8x6xf32> {
    %0 = train.matmul %x, %w {dist.operands = [#dist.sharding<_,_>, #dist.sharding<_,tp>], dist.results = [#dist.sharding<_,tp>]} : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32> loc(#fc)
    %1 = dist.all_gather %0 {axes = ["tp"], dim = 1 : i64, traffic = "activations", dist.results = [#dist.sharding<_,_>]} : (tensor<8x6xf32>) -> tensor<8x6xf32> loc(#fc)
    %2 = train.softmax %1 {dim = 1 : i64, dist.operands = [#dist.sharding<_,_>], dist.results = [#dist.sharding<_,_>]} : (tensor<8x6xf32>) -> tensor<8x6xf32> loc(#fc)
    return %2 : tensor<8x6xf32>
  }
  // The shift of an input is an op of the model; the gather of the input is none.
  func.func @evaluate(%x: tensor<8x4xf32> {train.input = "x", dist.sharding = #dist.sharding<tp,_>}) -> tensor<7x4xf32> {
    %0 = train.reshape %x {dist.operands = [#dist.sharding<tp,_>], dist.results = [#dist.sharding<tp,_>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %1 = dist.all_gather %0 {axes = ["tp"], dim = 0 : i64, traffic = "activations", dist.results = [#dist.sharding<_,_>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %2 = train.slice %1 {offsets = array<i64: 1, 0>, strides = array<i64: 1, 1>, dist.operands = [#dist.sharding<_,_>], dist.results = [#dist.sharding<_,_>]} : (tensor<8x4xf32>) -> tensor<7x4xf32> loc(#fc)
    return %2 : tensor<7x4xf32>
  }
}
#file = loc("model.onnx":0:0)
#gemm = loc("Gemm"(#file))
#root = loc(""(#gemm))
#fc = loc("fc"(#root))
