// RUN: zc-opt %s --zc-mark-delays='delays=3,1,0' | FileCheck %s
// RUN: zc-opt %s --zc-mark-delays='delays=3,1,0 one-role' | FileCheck %s --check-prefixes=CHECK,ONE

// Tests that a parameter is as old as its stage says, also where ops of no
// stage stand between them; that the last stage's reads the newest version; and
// that one rank forgets the stages.

!x = tensor<8x64xf32>

// CHECK: module attributes {train.no_flush
// ONE-NOT: train.stage
// CHECK: train.state @a "parameter" : tensor<8x64xf32> {delay = 3 : i64}
train.state @a "parameter" : !x
// CHECK: train.state @b "parameter" : tensor<8x64xf32> {delay = 1 : i64}
train.state @b "parameter" : !x
// CHECK: train.state @c "parameter" : tensor<8x64xf32>{{$}}
train.state @c "parameter" : !x
// CHECK: train.state @fixed "constant" : tensor<8x64xf32>{{$}}
train.state @fixed "constant" : !x

func.func @step(%x: !x {train.input = "x"}, %a: !x {train.state = @a},
    %b: !x {train.state = @b}, %c: !x {train.state = @c},
    %fixed: !x {train.state = @fixed}) -> !x {
  %0 = train.mul %x, %a {train.stage = 0 : i64} : (!x, !x) -> !x
  %view = train.neg %b : (!x) -> !x
  %1 = train.mul %0, %view {train.stage = 1 : i64} : (!x, !x) -> !x
  %2 = train.mul %1, %fixed {train.stage = 1 : i64} : (!x, !x) -> !x
  %3 = train.mul %2, %c {train.stage = 2 : i64} : (!x, !x) -> !x
  return %3 : !x
}
