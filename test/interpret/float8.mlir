// Floats of 8 bits.
// RUN: zc-interpret %s --program rounded | FileCheck %s --check-prefix=ROUNDED
// RUN: zc-interpret %s --program product | FileCheck %s --check-prefix=PRODUCT
// RUN: zc-interpret %s --program blocks | FileCheck %s --check-prefix=BLOCKS

// Tests the nearest number, the even one of two, also among the smallest ones.
func.func @rounded() -> (tensor<6xf8E4M3FN>, tensor<6xf8E5M2>) {
  %x = train.constant dense<[17.0, 19.0, 0.0009765625, 0.001, -448.0, 3.3]> : tensor<6xf32>
  %y = train.constant dense<[18.0, 22.0, 7.62939453125e-06, 8.0e-06, -57344.0, 3.3]> : tensor<6xf32>
  %0 = train.convert %x : (tensor<6xf32>) -> tensor<6xf8E4M3FN>
  %1 = train.convert %y : (tensor<6xf32>) -> tensor<6xf8E5M2>
  return %0, %1 : tensor<6xf8E4M3FN>, tensor<6xf8E5M2>
}
// ROUNDED: result0: f [6] = 16 20 0 {{0\.0?0?195[0-9]*|1.95[0-9]*e-03}} -448 3.25{{$}}
// ROUNDED-NEXT: result1: f [6] = 16 24 0 {{1.52[0-9]*e-05}} -57344 3.5{{$}}

// Tests the largest magnitude, and that a product has both scales: (2 * 8 - 3 *
// 4) * 0.5 * 0.25.
func.func @product() -> (tensor<2xf32>, tensor<1x1xf32>) {
  %a = train.constant dense<[[2.0, -3.0]]> : tensor<1x2xf32>
  %b = train.constant dense<[[8.0], [4.0]]> : tensor<2x1xf32>
  %half = train.constant dense<0.5> : tensor<f32>
  %quarter = train.constant dense<0.25> : tensor<f32>
  %0 = train.amax %a dims [0] : (tensor<1x2xf32>) -> tensor<2xf32>
  %a8 = train.convert %a : (tensor<1x2xf32>) -> tensor<1x2xf8E5M2>
  %b8 = train.convert %b : (tensor<2x1xf32>) -> tensor<2x1xf8E4M3FN>
  %1 = train.scaled_matmul %a8, %b8, %half, %quarter : (tensor<1x2xf8E5M2>, tensor<2x1xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<1x1xf32>
  return %0, %1 : tensor<2xf32>, tensor<1x1xf32>
}
// PRODUCT: result0: f [2] = 2 3{{$}}
// PRODUCT-NEXT: result1: f [1, 1] = 0.5{{$}}

// Tests that each block of a factor has a scale, of an element or more: (2 * 8 +
// 3 * 4) * 0.5 * 4 of the first column; and powers of two.
func.func @blocks() -> (tensor<1x2xf32>, tensor<4xf32>) {
  %a = train.constant dense<[[2.0, 3.0]]> : tensor<1x2xf32>
  %b = train.constant dense<[[8.0, 1.0], [4.0, 1.0]]> : tensor<2x2xf32>
  %left = train.constant dense<0.5> : tensor<1x1xf32>
  %right = train.constant dense<4.0> : tensor<1x1xf32>
  %a8 = train.convert %a : (tensor<1x2xf32>) -> tensor<1x2xf8E4M3FN>
  %b8 = train.convert %b : (tensor<2x2xf32>) -> tensor<2x2xf8E4M3FN>
  %0 = train.scaled_matmul %a8, %b8, %left, %right : (tensor<1x2xf8E4M3FN>, tensor<2x2xf8E4M3FN>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x2xf32>
  %x = train.constant dense<[448.0, 0.99, 1.0, 3.0e-3]> : tensor<4xf32>
  %1 = train.floor_power %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<1x2xf32>, tensor<4xf32>
}
// BLOCKS: result0: f [1, 2] = 56 10{{$}}
// BLOCKS-NEXT: result1: f [4] = 256 0.5 1 {{0.00195[0-9]*}}{{$}}
