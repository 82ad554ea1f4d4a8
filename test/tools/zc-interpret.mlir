// Tests how zc-interpret finds the values of arguments, and what it refuses.
// RUN: not zc-interpret %s --program step --random 3 --output-dir %t.missing 2>&1 | FileCheck %s --check-prefix=NO-FOLDER
// RUN: rm -rf %t && mkdir %t
// RUN: zc-interpret %s --program step --random 3 --output-dir %t | count 0
// RUN: zc-interpret %s --program twice --input x=%t/weight.npy | FileCheck %s
// RUN: not zc-interpret %s --program twice 2>&1 | FileCheck %s --check-prefix=NEEDS
// RUN: not zc-interpret %s --program twice --input y=%t/loss.npy 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not zc-interpret %s --program twice --input x=%t/loss.npy 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not zc-interpret %s --program twice --input x 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: not zc-interpret %s --program twice --input x=%t/none.npy 2>&1 | FileCheck %s --check-prefix=NO-FILE
// RUN: not zc-interpret %s --program thrice 2>&1 | FileCheck %s --check-prefix=NO-PROGRAM
// RUN: zc-interpret %s --program precise --precision f32 | FileCheck %s --check-prefix=F32
// RUN: zc-interpret %s --program precise | FileCheck %s --check-prefix=F64
// RUN: zc-interpret %s --program draws --random 1 > %t/first
// RUN: zc-interpret %s --program draws --random 1 | diff - %t/first
// RUN: FileCheck %s --check-prefix=DRAWS < %t/first

// NO-FOLDER: error: {{.*}}.missing/weight.npy: No such file or directory

train.state @weight "parameter" : tensor<2xf64> {value = dense<[1.5, -2.0]> : tensor<2xf64>}

// A state that the module holds has its value; the rest is random.
func.func @step(%w: tensor<2xf64> {train.state = @weight}, %x: tensor<2xf64> {train.input = "x"})
    -> (tensor<2xf64> {train.state = @weight}, tensor<f64> {train.metric = "loss"}) {
  %0 = train.mul %w, %x : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
  %1 = train.reduce "sum" %0 {dims = array<i64: 0>} : (tensor<2xf64>) -> tensor<f64>
  return %w, %1 : tensor<2xf64>, tensor<f64>
}

// CHECK: y: f [2] = 3 -4{{$}}
// NEEDS: error: 'func.func' op needs values for 'x'; give --input or --random
// UNKNOWN: error: 'func.func' op has no argument 'y'
// SHAPE: error: 'func.func' op argument 0 is 'tensor<2xf64>', but got floats of shape []
// SYNTAX: error: --input is 'x', expected NAME=FILE.npy
// NO-FILE: error: {{.*}}none.npy: No such file or directory
// NO-PROGRAM: error: {{.*}}zc-interpret.mlir: has no program 'thrice'
func.func @twice(%x: tensor<2xf64> {train.input = "x"}) -> (tensor<2xf64> {train.output = "y"}) {
  %0 = train.add %x, %x : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// F32: result0: f [1] = 0.100000001{{$}}
// F64: result0: f [1] = 0.1{{$}}
func.func @precise() -> tensor<1xf64> {
  %0 = train.constant dense<0.1> : tensor<1xf64>
  return %0 : tensor<1xf64>
}

// Random integers stay within the range that the program names.
// DRAWS: x: i [8] ={{( [56])+$}}
func.func @draws(%x: tensor<8xi64> {train.input = "x", train.range = array<i64: 5, 7>}) -> (tensor<8xi64> {train.output = "x"}) {
  return %x : tensor<8xi64>
}
