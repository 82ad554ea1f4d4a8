// RUN: zc-opt %s --zc-build-loss="loss=mse expert-metrics" | FileCheck %s
// RUN: zc-opt %s --mlir-print-debuginfo --zc-build-loss="loss=mse expert-metrics layer-metrics" | FileCheck %s --check-prefix=LAYERS

// Tests that rows without room are counted in every layer, also where its
// experts are not as many as the first layer's, which the table leaves out; no
// row lacks room in a layer that has room for all.
// CHECK-LABEL: func.func @step
// CHECK-SAME: tensor<1x3xf32> {train.metric = "moe_tokens"}
// CHECK-SAME: tensor<1xf32> {train.metric = "moe_overflow"}
// CHECK-NOT: train.convert %{{.*}} : (tensor<2x5xi32>)
// CHECK: %[[A:.*]] = train.convert %{{.*}} : (tensor<2x3xi32>) -> tensor<2x3xf32>
// CHECK: %[[B:.*]] = train.convert %{{.*}} : (tensor<2x4xi32>) -> tensor<2x4xf32>
// CHECK: train.constant dense<2.000000e+00> : tensor<2x3xf32>
// CHECK: train.sub %[[A]]
// CHECK: %[[MORE_A:.*]] = train.reshape %{{.*}} -> tensor<1xf32>
// CHECK: train.constant dense<1.000000e+00> : tensor<2x4xf32>
// CHECK: train.sub %[[B]]
// CHECK: %[[MORE_B:.*]] = train.reshape %{{.*}} -> tensor<1xf32>
// CHECK: %[[SUM:.*]] = train.add %[[MORE_A]], %[[MORE_B]]
// CHECK: return %{{.*}}, %{{.*}}, %[[SUM]] : tensor<f32>, tensor<1x3xf32>, tensor<1xf32>

// Tests that for stages each layer has metrics of its own, of its node, that are
// counted where its rows get their places. The table leaves out the second
// layer, and rooms for all the third.
// LAYERS: func.func @step
// LAYERS-SAME: -> (tensor<f32> {{.*}}, tensor<1x3xf32> {train.metric = "moe_tokens.0"},
// LAYERS-SAME: tensor<1xf32> {train.metric = "moe_overflow.0"}, tensor<1xf32> {train.metric = "moe_overflow.1"})
// LAYERS: %{{.*}}, %{{.*}}, %[[COUNTS:.*]] = train.expert_slots {{.*}}capacity = 2
// LAYERS-NEXT: train.convert %[[COUNTS]] {{.*}} loc(#[[A:loc[0-9]*]])
// LAYERS: %[[MORE_A:.*]] = train.reshape %{{.*}} -> tensor<1xf32> loc(#[[A]])
// LAYERS: %[[ROWS:.*]] = train.reshape %{{.*}} -> tensor<1x3xf32> loc(#[[A]])
// LAYERS: train.expert_slots {{.*}}capacity = 1
// LAYERS: %[[MORE_B:.*]] = train.reshape %{{.*}} -> tensor<1xf32> loc(#[[B:loc[0-9]*]])
// LAYERS: return %{{.*}}, %[[ROWS]], %[[MORE_A]], %[[MORE_B]] :
// LAYERS-DAG: #[[A]] = loc("a")
// LAYERS-DAG: #[[B]] = loc("b")
func.func @forward(%x: tensor<8x3xf32> {train.input = "x", train.batch_dim = 0 : i64},
                   %g: tensor<2x6xi64> {train.input = "g"})
    -> (tensor<8x3xf32> {train.output = "y", train.batch_dim = 0 : i64},
        tensor<2x6xi32> {train.output = "a"}, tensor<2x6xi32> {train.output = "b"},
        tensor<2x6xi32> {train.output = "c"}) {
  %a, %ra, %ca = train.expert_slots %g {experts = 3 : i64, capacity = 2 : i64, choices = 2 : i64} : (tensor<2x6xi64>) -> (tensor<2x6xi32>, tensor<2x6xi32>, tensor<2x3xi32>) loc("a")
  %b, %rb, %cb = train.expert_slots %g {experts = 4 : i64, capacity = 1 : i64, choices = 2 : i64} : (tensor<2x6xi64>) -> (tensor<2x6xi32>, tensor<2x4xi32>, tensor<2x4xi32>) loc("b")
  %c, %rc, %cc = train.expert_slots %g {experts = 5 : i64, capacity = 3 : i64, choices = 2 : i64} : (tensor<2x6xi64>) -> (tensor<2x6xi32>, tensor<2x15xi32>, tensor<2x5xi32>)
  return %x, %a, %b, %c : tensor<8x3xf32>, tensor<2x6xi32>, tensor<2x6xi32>, tensor<2x6xi32>
}
