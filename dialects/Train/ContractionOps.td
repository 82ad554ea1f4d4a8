//===- ContractionOps.td - what libraries are good at ---------------------===//
#ifndef ZC_DIALECTS_TRAIN_CONTRACTIONOPS_TD
#define ZC_DIALECTS_TRAIN_CONTRACTIONOPS_TD

include "dialects/Train/TrainDialect.td"

def Train_MatmulOp : Train_TensorOp<"matmul",
    [Train_Differentiable, Train_Precision<["getPrecision"]>],
    ["accumulates"]> {
  let summary = "[batch..., M, K] x [batch..., K, N] -> [batch..., M, N]";
  let description = [{
    Operands have the same number of dims, at least 2, and the same batch dims.
    With `transpose_lhs` the left operand is stored [batch..., K, M], with
    `transpose_rhs` the right one [batch..., N, K]: strides to a library, no copy.
    Operands of 16 bits may give a result of float32.

    `float8` holds the 8-bit types to which the factors are rounded before they
    are multiplied, and the model's name of the weight. The gradients' products
    have it, too: what is rounded to E5M2 is a gradient.
  }];
  let arguments = (ins Train_FloatTensor:$lhs, Train_FloatTensor:$rhs,
                       UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs,
                       OptionalAttr<ArrayAttr>:$float8);
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$lhs,
      "::mlir::Value":$rhs, CArg<"bool", "false">:$transpose_lhs,
      CArg<"bool", "false">:$transpose_rhs), [{
    build($_builder, $_state, type, lhs, rhs, transpose_lhs, transpose_rhs,
          /*float8=*/::mlir::ArrayAttr());
  }]>];
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Train_MatmulAddOp : Train_TensorOp<"matmul_add",
    [AllTypesMatch<["init", "result"]>], ["mayShareBuffer", "accumulates"]> {
  let summary = "`init` plus the product of two matrices";
  let description = [{
    A matmul whose products add up where they lie: sums over parts of a batch.
    Libraries work in place on `init`.
  }];
  let arguments = (ins Train_FloatTensor:$init, Train_FloatTensor:$lhs,
      Train_FloatTensor:$rhs, UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
}

class Train_ConvolutionOp<string mnemonic, list<Trait> traits = []>
    : Train_TensorOp<mnemonic, !listconcat(traits,
          [Train_Images, Train_Precision<["getPrecision"]>]),
          ["accumulates"], ["setPartTypes"]> {
  // Spatial lists have one entry per spatial dim (1 to 3 of them). The filter
  // is [K, C/groups, spatial...] always; images are [N, C, spatial...], with
  // `channels_last` [N, spatial..., C]. With `winograd` a library may compute it
  // by Winograd's way, which rounds otherwise; scratch memory is planned for it.
  dag convolutionAttributes = (ins DenseI64ArrayAttr:$strides,
      DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads_low,
      DenseI64ArrayAttr:$pads_high, I64Attr:$groups, UnitAttr:$channels_last,
      UnitAttr:$winograd);
  let hasVerifier = 1;
}

def Train_ConvOp : Train_ConvolutionOp<"conv", [Train_Differentiable]> {
  let summary = "convolution (cross-correlation, as in ONNX's Conv)";
  let arguments = !con((ins Train_FloatTensor:$input,
                            Train_FloatTensor:$filter), convolutionAttributes);
  let results = (outs Train_FloatTensor:$result);
  let extraClassDefinition =
      Train_ChannelsLastAttr<"0", "0">.definition;
}

def Train_ConvInputGradOp : Train_ConvolutionOp<"conv_input_grad"> {
  let summary = "gradient of conv in its input";
  let arguments = !con((ins Train_FloatTensor:$grad,
                            Train_FloatTensor:$filter), convolutionAttributes);
  let results = (outs Train_FloatTensor:$result);
  let extraClassDefinition =
      Train_ChannelsLastAttr<"0", "0">.definition;
}

def Train_ConvFilterGradOp : Train_ConvolutionOp<"conv_filter_grad"> {
  let summary = "gradient of conv in its filter";
  let arguments = !con((ins Train_FloatTensor:$input,
                            Train_FloatTensor:$grad), convolutionAttributes);
  let results = (outs Train_FloatTensor:$result);
  let extraClassDefinition =
      Train_ChannelsLastAttr<"0, 1", "">.definition;
}

class Train_PoolOp<string mnemonic, list<Trait> traits = []>
    : Train_TensorOp<mnemonic, !listconcat(traits, [Train_Images])> {
  dag poolAttributes = (ins DenseI64ArrayAttr:$window,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
      DenseI64ArrayAttr:$pads_low, DenseI64ArrayAttr:$pads_high,
      UnitAttr:$channels_last);
  let hasVerifier = 1;
}

def Train_MaxPoolOp : Train_PoolOp<"max_pool", [Train_Differentiable]> {
  let summary = "the largest element of each window; padding never wins";
  let arguments = !con((ins Train_FloatTensor:$input), poolAttributes);
  let results = (outs Train_FloatTensor:$result);
  let extraClassDefinition =
      Train_ChannelsLastAttr<"0", "0">.definition;
}

def Train_MaxPoolGradOp : Train_PoolOp<"max_pool_grad"> {
  let summary = "gradient of max_pool: to the first largest element, as PyTorch";
  let arguments = !con((ins Train_FloatTensor:$input, Train_FloatTensor:$output,
                            Train_FloatTensor:$grad), poolAttributes);
  let results = (outs Train_FloatTensor:$result);
  let extraClassDefinition =
      Train_ChannelsLastAttr<"0, 1, 2", "0">.definition;
}

def Train_MaxPoolPlacesOp : Train_PoolOp<"max_pool_places"> {
  let summary = "max_pool, and where in its window each maximum lies";
  let description = [{
    A place is the row-major index, in the window, of the first largest element:
    an i8 where the window has at most 127 elements, else an i16 or i32.
  }];
  let arguments = !con((ins Train_FloatTensor:$input), poolAttributes);
  let results = (outs Train_FloatTensor:$result, Train_IntTensor:$places);
  let extraClassDefinition =
      Train_ChannelsLastAttr<"0", "0, 1">.definition;
}

def Train_MaxPoolPlacesGradOp : Train_PoolOp<"max_pool_places_grad"> {
  let summary = "gradient of max_pool, from the places of its maxima";
  let description = [{
    The result of `max_pool_grad`, bit for bit, without the image and the maxima.
  }];
  let arguments = !con((ins Train_IntTensor:$places, Train_FloatTensor:$grad),
                       poolAttributes);
  let results = (outs Train_FloatTensor:$result);
  let extraClassDefinition =
      Train_ChannelsLastAttr<"0, 1", "0">.definition;
}

class Train_AverageOp<string mnemonic, list<Trait> traits = []>
    : Train_TensorOp<mnemonic, !listconcat(traits, [Train_Images])> {
  // A window's divisor is the number of its elements that lie on the image,
  // with `count_include_pad` the number of all its elements.
  dag averageAttributes = (ins DenseI64ArrayAttr:$window,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads_low,
      DenseI64ArrayAttr:$pads_high, UnitAttr:$count_include_pad,
      UnitAttr:$channels_last);
  let hasVerifier = 1;
}

def Train_AveragePoolOp
    : Train_AverageOp<"average_pool", [Train_Differentiable]> {
  let summary = "the average of each window, its padding zeros";
  let description = [{
    Sums of floats of 16 bits are float32. No window lies in the padding alone.
  }];
  let arguments = !con((ins Train_FloatTensor:$input), averageAttributes);
  let results = (outs Train_FloatTensor:$result);
  let extraClassDefinition =
      Train_ChannelsLastAttr<"0", "0">.definition;
}

def Train_AveragePoolGradOp : Train_AverageOp<"average_pool_grad"> {
  let summary = "gradient of average_pool";
  let arguments = !con((ins Train_FloatTensor:$grad), averageAttributes);
  let results = (outs Train_FloatTensor:$result);
  let extraClassDefinition =
      Train_ChannelsLastAttr<"0", "0">.definition;
}

#endif // ZC_DIALECTS_TRAIN_CONTRACTIONOPS_TD
