// RUN: zc-opt %s --zc-broadcast-parts | FileCheck %s

module attributes {dist.mesh = #dist.mesh<dp=2,tp=2>} {
  // Tests that the rank whose part is read sends it to the others.
  // CHECK-LABEL: func.func @one
  // CHECK-NEXT: %[[SENT:.*]] = dist.broadcast %arg0 {axes = ["dp"], root = 1 : i64, traffic = "statistics"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %[[LAST:.*]] = train.slice %[[SENT]] {offsets = array<i64: 1, 1>
  // CHECK-NEXT: return %[[SENT]], %[[LAST]]
  func.func @one(%a: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<1x2xf32>) {
    %0 = dist.all_gather %a {axes = ["dp"], dim = 0 : i64, traffic = "statistics"} : (tensor<2x3xf32>) -> tensor<4x3xf32>
    %1 = train.slice %0 {offsets = array<i64: 2, 0>, strides = array<i64: 1, 1>} : (tensor<4x3xf32>) -> tensor<2x3xf32>
    %2 = train.slice %0 {offsets = array<i64: 3, 1>, strides = array<i64: 1, 1>} : (tensor<4x3xf32>) -> tensor<1x2xf32>
    return %1, %2 : tensor<2x3xf32>, tensor<1x2xf32>
  }

  // Tests that parts of several ranks are gathered, in one slice or in two, and
  // so is what another op reads.
  // CHECK-LABEL: func.func @several
  // CHECK-COUNT-3: dist.all_gather
  // CHECK-NOT: dist.broadcast
  func.func @several(%a: tensor<2xf32>, %b: tensor<3xf32>, %c: tensor<4xf32>) -> (tensor<2xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<8xf32>) {
    %0 = dist.all_gather %a {axes = ["dp"], dim = 0 : i64, traffic = "statistics"} : (tensor<2xf32>) -> tensor<4xf32>
    %1 = train.slice %0 {offsets = array<i64: 0>, strides = array<i64: 2>} : (tensor<4xf32>) -> tensor<2xf32>
    %2 = dist.all_gather %b {axes = ["dp"], dim = 0 : i64, traffic = "statistics"} : (tensor<3xf32>) -> tensor<6xf32>
    %3 = train.slice %2 {offsets = array<i64: 0>, strides = array<i64: 1>} : (tensor<6xf32>) -> tensor<1xf32>
    %4 = train.slice %2 {offsets = array<i64: 3>, strides = array<i64: 1>} : (tensor<6xf32>) -> tensor<1xf32>
    %5 = dist.all_gather %c {axes = ["dp"], dim = 0 : i64, traffic = "statistics"} : (tensor<4xf32>) -> tensor<8xf32>
    %6 = train.slice %5 {offsets = array<i64: 0>, strides = array<i64: 1>} : (tensor<8xf32>) -> tensor<1xf32>
    %7 = train.neg %5 : (tensor<8xf32>) -> tensor<8xf32>
    return %1, %3, %4, %6, %7 : tensor<2xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<8xf32>
  }

  // Tests that broadcasts of which only results are made go to the end, all in
  // front of what reads them, and that one stays on which an exchange depends.
  // CHECK-LABEL: func.func @end
  // CHECK-NEXT: %[[MID:.*]] = dist.broadcast %arg1
  // CHECK-NEXT: train.neg %[[MID]]
  // CHECK-NEXT: dist.all_reduce
  // CHECK-NEXT: %[[A:.*]] = dist.broadcast %arg0
  // CHECK-NEXT: %[[B:.*]] = dist.broadcast %arg2
  // CHECK-NEXT: train.neg %[[A]]
  // CHECK-NEXT: train.exp %[[B]]
  func.func @end(%a: tensor<1x3xf32>, %b: tensor<1x3xf32>, %c: tensor<1x3xf32>) -> (tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>) {
    %0 = dist.all_gather %a {axes = ["dp"], dim = 0 : i64, traffic = "statistics"} : (tensor<1x3xf32>) -> tensor<2x3xf32>
    %1 = train.slice %0 {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<1x3xf32>
    %2 = train.neg %1 : (tensor<1x3xf32>) -> tensor<1x3xf32>
    %3 = dist.all_gather %b {axes = ["dp"], dim = 0 : i64, traffic = "statistics"} : (tensor<1x3xf32>) -> tensor<2x3xf32>
    %4 = train.slice %3 {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<1x3xf32>
    %5 = train.neg %4 : (tensor<1x3xf32>) -> tensor<1x3xf32>
    %6 = dist.all_gather %c {axes = ["dp"], dim = 0 : i64, traffic = "statistics"} : (tensor<1x3xf32>) -> tensor<2x3xf32>
    %7 = train.slice %6 {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<1x3xf32>
    %8 = train.exp %7 : (tensor<1x3xf32>) -> tensor<1x3xf32>
    %9 = dist.all_reduce %5 {axes = ["tp"], traffic = "activations"} : (tensor<1x3xf32>) -> tensor<1x3xf32>
    return %2, %8, %9 : tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>
  }
}
