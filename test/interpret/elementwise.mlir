// Elementwise ops, with numbers from PyTorch.
// RUN: zc-interpret %s --program unary | FileCheck %s --check-prefix=UNARY
// RUN: zc-interpret %s --program positive | FileCheck %s --check-prefix=POSITIVE
// RUN: zc-interpret %s --program binary | FileCheck %s --check-prefix=BINARY

// Tests functions of one element.
func.func @unary() -> (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>) {
  %x = train.constant dense<[-2.5, -0.5, 0.0, 0.5, 3.0]> : tensor<5xf64>
  %neg = train.neg %x : (tensor<5xf64>) -> tensor<5xf64>
  %abs = train.abs %x : (tensor<5xf64>) -> tensor<5xf64>
  %exp = train.exp %x : (tensor<5xf64>) -> tensor<5xf64>
  %tanh = train.tanh %x : (tensor<5xf64>) -> tensor<5xf64>
  %erf = train.erf %x : (tensor<5xf64>) -> tensor<5xf64>
  %sin = train.sin %x : (tensor<5xf64>) -> tensor<5xf64>
  %cos = train.cos %x : (tensor<5xf64>) -> tensor<5xf64>
  %sigmoid = train.sigmoid %x : (tensor<5xf64>) -> tensor<5xf64>
  %relu = train.relu %x : (tensor<5xf64>) -> tensor<5xf64>
  %gelu = train.gelu %x : (tensor<5xf64>) -> tensor<5xf64>
  %gelu_tanh = train.gelu %x {tanh} : (tensor<5xf64>) -> tensor<5xf64>
  return %neg, %abs, %exp, %tanh, %erf, %sin, %cos, %sigmoid, %relu, %gelu, %gelu_tanh : tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>
}
// UNARY: result0: f [5] = 2.5 0.5 0 -0.5 -3{{$}}
// UNARY-NEXT: result1: f [5] = 2.5 0.5 0 0.5 3{{$}}
// UNARY-NEXT: result2: f [5] = 0.0820849986 0.60653066 1 1.64872127 20.0855369{{$}}
// UNARY-NEXT: result3: f [5] = -0.986614298 -0.462117157 0 0.462117157 0.995054754{{$}}
// UNARY-NEXT: result4: f [5] = -0.999593048 -0.520499878 0 0.520499878 0.99997791{{$}}
// UNARY-NEXT: result5: f [5] = -0.598472144 -0.479425539 0 0.479425539 0.141120008{{$}}
// UNARY-NEXT: result6: f [5] = -0.801143616 0.877582562 1 0.877582562 -0.989992497{{$}}
// UNARY-NEXT: result7: f [5] = 0.07585818 0.377540669 0.5 0.622459331 0.952574127{{$}}
// UNARY-NEXT: result8: f [5] = 0 0 0 0.5 3{{$}}
// UNARY-NEXT: result9: f [5] = -0.0155241633 -0.154268769 0 0.345731231 2.99595031{{$}}
// UNARY-NEXT: result10: f [5] = -0.0150842661 -0.15428599 0 0.34571401 2.99636261{{$}}

// Tests functions of positive elements.
func.func @positive() -> (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>) {
  %x = train.constant dense<[2.75, 0.75, 0.25, 0.75, 3.25]> : tensor<5xf64>
  %z = train.constant dense<[1.5, -2.0, 0.0, 0.5, -1.0]> : tensor<5xf64>
  %a = train.log %x : (tensor<5xf64>) -> tensor<5xf64>
  %b = train.sqrt %x : (tensor<5xf64>) -> tensor<5xf64>
  %c = train.rsqrt %x : (tensor<5xf64>) -> tensor<5xf64>
  %d = train.pow %x, %z : (tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
  return %a, %b, %c, %d : tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>
}
// POSITIVE: result0: f [5] = 1.01160091 -0.287682072 -1.38629436 -0.287682072 1.178655{{$}}
// POSITIVE-NEXT: result1: f [5] = 1.6583124 0.866025404 0.5 0.866025404 1.80277564{{$}}
// POSITIVE-NEXT: result2: f [5] = 0.603022689 1.15470054 2 1.15470054 0.554700196{{$}}
// POSITIVE-NEXT: result3: f [5] = 4.56035909 1.77777778 1 0.866025404 0.307692308{{$}}

// Tests functions of two elements.
func.func @binary() -> (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>) {
  %x = train.constant dense<[-2.5, -0.5, 0.0, 0.5, 3.0]> : tensor<5xf64>
  %z = train.constant dense<[1.5, -2.0, 0.0, 0.5, -1.0]> : tensor<5xf64>
  %p = train.constant dense<[2.75, 0.75, 0.25, 0.75, 3.25]> : tensor<5xf64>
  %add = train.add %x, %z : (tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
  %sub = train.sub %x, %z : (tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
  %mul = train.mul %x, %z : (tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
  %max = train.max %x, %z : (tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
  %min = train.min %x, %z : (tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
  %div = train.div %x, %p : (tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
  return %add, %sub, %mul, %max, %min, %div : tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>
}
// BINARY: result0: f [5] = -1 -2.5 0 1 2{{$}}
// BINARY-NEXT: result1: f [5] = -4 1.5 0 0 4{{$}}
// BINARY-NEXT: result2: f [5] = -3.75 1 0 0.25 -3{{$}}
// BINARY-NEXT: result3: f [5] = 1.5 -0.5 0 0.5 3{{$}}
// BINARY-NEXT: result4: f [5] = -2.5 -2 0 0.5 -1{{$}}
// BINARY-NEXT: result5: f [5] = -0.909090909 -0.666666667 0 0.666666667 0.923076923{{$}}

// Tests conversions: toward zero, to booleans, between widths and signs.
// RUN: zc-interpret %s --program conversions | FileCheck %s --check-prefix=CONVERSIONS
func.func @conversions() -> (tensor<3xi32>, tensor<3xi1>, tensor<3xi8>, tensor<3xui8>, tensor<3xf64>, tensor<3xi64>, tensor<3xf32>) {
  %x = train.constant dense<[-1.75, 0.0, 200.5]> : tensor<3xf64>
  %0 = train.convert %x : (tensor<3xf64>) -> tensor<3xi32>
  %1 = train.convert %x : (tensor<3xf64>) -> tensor<3xi1>
  %2 = train.convert %0 : (tensor<3xi32>) -> tensor<3xi8>
  %3 = train.convert %2 : (tensor<3xi8>) -> tensor<3xui8>
  %4 = train.convert %3 : (tensor<3xui8>) -> tensor<3xf64>
  %5 = train.convert %3 : (tensor<3xui8>) -> tensor<3xi64>
  %6 = train.convert %1 : (tensor<3xi1>) -> tensor<3xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<3xi32>, tensor<3xi1>, tensor<3xi8>, tensor<3xui8>, tensor<3xf64>, tensor<3xi64>, tensor<3xf32>
}
// CONVERSIONS: result0: i [3] = -1 0 200{{$}}
// CONVERSIONS-NEXT: result1: i [3] = 1 0 1{{$}}
// CONVERSIONS-NEXT: result2: i [3] = -1 0 -56{{$}}
// CONVERSIONS-NEXT: result3: i [3] = 255 0 200{{$}}
// CONVERSIONS-NEXT: result4: f [3] = 255 0 200{{$}}
// CONVERSIONS-NEXT: result5: i [3] = 255 0 200{{$}}
// CONVERSIONS-NEXT: result6: f [3] = 1 0 1{{$}}
