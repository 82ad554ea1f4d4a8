// RUN: zc-opt %s --zc-convert-to-sched --split-input-file --verify-diagnostics

// expected-error @+1 {{'func.func' op argument 0 has neither train.state nor train.input}}
func.func @argument_bound_to_nothing(%x: tensor<4xf32>) {
  return
}

// -----

// expected-error @+1 {{'func.func' op result 0 has none of train.state, train.output and train.metric}}
func.func @result_bound_to_nothing(%x: tensor<4xf32> {train.input = "x"})
    -> (tensor<4xf32> {train.gradient = @w}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' op argument 0 is bound to @w, which is no train.state}}
func.func @no_such_state(%x: tensor<4xf32> {train.state = @w}) {
  return
}

// -----

train.state @w "parameter" : tensor<5xf32>
// expected-error @+1 {{'func.func' op argument 0 is 'tensor<4xf32>' but state @w is 'tensor<5xf32>'}}
func.func @other_type(%x: tensor<4xf32> {train.state = @w}) {
  return
}

// -----

train.state @w "parameter" : tensor<4xf32>
// expected-error @+1 {{'func.func' op has two results for @w}}
func.func @two_new_values(%x: tensor<4xf32> {train.input = "x"})
    -> (tensor<4xf32> {train.state = @w}, tensor<4xf32> {train.state = @w}) {
  return %x, %x : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @library_call_of_two_ops(%x: tensor<4xf32> {train.input = "x"})
    -> (tensor<4xf32> {train.output = "y"}) {
  // expected-error @+1 {{'train.fused' op calls library 'onednn.matmul', so its body must be one op on its arguments whose first results it yields}}
  %y = train.fused(%x) {library = "onednn.matmul"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = train.neg %a : (tensor<4xf32>) -> tensor<4xf32>
    %1 = train.neg %0 : (tensor<4xf32>) -> tensor<4xf32>
    train.yield %1 : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @op_outside_of_a_region(%x: tensor<4xf32> {train.input = "x"})
    -> (tensor<4xf32> {train.output = "y"}) {
  // expected-error @+1 {{'train.neg' op is in no train.fused; run --zc-form-regions before scheduling}}
  %y = train.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
