// RUN: zc-opt %s --zc-overlap-collectives --split-input-file --verify-diagnostics

func.func @op_outside_of_a_region(%x: tensor<4xf32> {train.input = "x"})
    -> (tensor<4xf32> {train.output = "y"}) {
  // expected-error @+1 {{'train.neg' op is in no train.fused; run --zc-form-regions before scheduling}}
  %y = train.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
