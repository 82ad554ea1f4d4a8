// Floats of 16 bits: every result is rounded to what its type holds, sums within
// an op are not.
// RUN: zc-interpret %s --program rounded | FileCheck %s --check-prefix=ROUNDED
// RUN: zc-interpret %s --program sums | FileCheck %s --check-prefix=SUMS
// RUN: zc-interpret %s --program product | FileCheck %s --check-prefix=PRODUCT

// Tests the nearest number, the even one of two; infinity beyond the largest.
func.func @rounded() -> (tensor<5xbf16>, tensor<5xf16>) {
  %x = train.constant dense<[1.00390625, 1.01171875, 70000.0, 6.0e-8, -3.14159]> : tensor<5xf64>
  %0 = train.convert %x : (tensor<5xf64>) -> tensor<5xbf16>
  %1 = train.convert %x : (tensor<5xf64>) -> tensor<5xf16>
  return %0, %1 : tensor<5xbf16>, tensor<5xf16>
}
// ROUNDED: result0: f [5] = 1 1.015625 70144 {{6.00[0-9]*e-08}} -3.140625{{$}}
// ROUNDED-NEXT: result1: f [5] = 1.00390625 1.01171875 inf {{5.96[0-9]*e-08}} -3.140625{{$}}

// Tests that 4096 ones are 4096 (in fp16 alone their sum would end at 2048).
func.func @sums() -> (tensor<f32>, tensor<1x1xf16>) {
  %one = train.constant dense<1.0> : tensor<1x4096xf16>
  %0 = train.reduce "sum" %one {dims = array<i64: 0, 1>} : (tensor<1x4096xf16>) -> tensor<f32>
  %1 = train.matmul %one, %one {transpose_rhs} : (tensor<1x4096xf16>, tensor<1x4096xf16>) -> tensor<1x1xf16>
  return %0, %1 : tensor<f32>, tensor<1x1xf16>
}
// SUMS: result0: f [] = 4096{{$}}
// SUMS-NEXT: result1: f [1, 1] = 4096{{$}}

// Tests that a product is rounded once.
func.func @product() -> (tensor<1x1xbf16>) {
  %a = train.constant dense<[[1.0, 0.00390625, 0.00390625]]> : tensor<1x3xbf16>
  %b = train.constant dense<[[1.0, 1.0, 1.0]]> : tensor<1x3xbf16>
  %0 = train.matmul %a, %b {transpose_rhs} : (tensor<1x3xbf16>, tensor<1x3xbf16>) -> tensor<1x1xbf16>
  return %0 : tensor<1x1xbf16>
}
// PRODUCT: result0: f [1, 1] = 1.0078125{{$}}
