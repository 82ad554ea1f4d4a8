// RUN: zc-interpret %s --program keys | FileCheck %s --check-prefix=KEYS
// RUN: zc-interpret %s --program places | FileCheck %s --check-prefix=PLACES

// Tests keys against splitmix64's first three numbers from seed 0.
// KEYS: -2152535657050944081
// KEYS-SAME: 7960286522194355700
// KEYS-SAME: 487617019471545679
func.func @keys() -> (tensor<3xi64> {train.output = "keys"}) {
  %seed = train.constant dense<0> : tensor<3xi64>
  %n = train.constant dense<[1, 2, 3]> : tensor<3xi64>
  %0 = train.random_key %seed, %n : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  return %0 : tensor<3xi64>
}

// Tests that the sum of the positions alone says where an element is: the two
// differences are of the same elements, in one vector and in a matrix.
// PLACES: differ: f [4, 8] = 0{{( 0)*$}}
func.func @places() -> (tensor<4x8xf32> {train.output = "differ"}) {
  %x = train.constant dense<1.0> : tensor<32xf32>
  %k = train.constant dense<1234567890123> : tensor<32xi64>
  %p = train.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]> : tensor<32xi64>
  %0 = train.dropout_training %x, %k, %p {ratio = 0.5 : f64} : (tensor<32xf32>, tensor<32xi64>, tensor<32xi64>) -> tensor<32xf32>
  %1 = train.reshape %0 : (tensor<32xf32>) -> tensor<4x8xf32>
  %y = train.constant dense<1.0> : tensor<4x8xf32>
  %l = train.constant dense<1234567890123> : tensor<4x8xi64>
  %r = train.constant dense<[0, 8, 16, 24]> : tensor<4xi64>
  %c = train.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi64>
  %rows = train.broadcast %r {dims = array<i64: 0>} : (tensor<4xi64>) -> tensor<4x8xi64>
  %columns = train.broadcast %c {dims = array<i64: 1>} : (tensor<8xi64>) -> tensor<4x8xi64>
  %2 = train.dropout_training %y, %l, %rows, %columns {ratio = 0.5 : f64} : (tensor<4x8xf32>, tensor<4x8xi64>, tensor<4x8xi64>, tensor<4x8xi64>) -> tensor<4x8xf32>
  %3 = train.sub %1, %2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}
