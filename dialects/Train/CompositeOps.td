//===- CompositeOps.td - normalisations, losses, indexing -----------------===//
//
// Ops that stay whole for the sake of numerics or libraries.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_DIALECTS_TRAIN_COMPOSITEOPS_TD
#define ZC_DIALECTS_TRAIN_COMPOSITEOPS_TD

include "dialects/Interfaces/NamedEnum.td"
include "dialects/Train/OpKinds.td"
include "dialects/Train/TrainDialect.td"

def Train_SoftmaxOp : Train_TensorOp<"softmax",
    [SameOperandsAndResultType, Train_Differentiable],
    ["mayShareBuffer", "accumulates"]> {
  let summary = "exp(x - max x) / sum exp(x - max x) along `dim`";
  let arguments = (ins Train_FloatTensor:$input, I64Attr:$dim);
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
}

def Train_AttentionMask : StaticShapeTensorOf<[F32, F64, F16, BF16, I64]>;

def Train_AttentionOp : Train_TensorOp<"attention", [Train_Differentiable,
    Train_Precision<["getPrecision", "isStatistic"]>], ["accumulates"]> {
  let summary = "softmax(scale query key^T) value, per sample and head";
  let description = [{
    query and result [batch, queries, heads, width], key and value [batch, keys,
    heads, width]. With `causal` query i attends keys 0 to i, of as many. `mask`
    [batch or 1, heads or 1, queries or 1, keys] is added to the scaled scores; a
    query whose keys are all at minus infinity gets zeros. Or its i64 [1, 1,
    queries, 1] say which key is the last that each attends. It has no gradient.
    `log_sum_exp` [batch, heads, queries] is that of the masked scores.

    `tokens`, where ranks divide them, says how a rank gets the other ranks' keys
    and values. "ring": a part at a time, each from the rank before; "gather": all
    of them; with "=zigzag" of tokens in that order. "whole": it has all of them,
    and adds up their gradients with the others.
  }];
  let arguments = (ins Train_FloatTensor:$query, Train_FloatTensor:$key,
                       Train_FloatTensor:$value,
                       Optional<Train_AttentionMask>:$mask, F64Attr:$scale,
                       UnitAttr:$causal,
                       OptionalAttr<NamedEnumAttr<Train_KeySource>>:$tokens);
  let results = (outs Train_FloatTensor:$result,
                      Train_FloatTensor:$log_sum_exp);
  let hasVerifier = 1;
}

def Train_AttentionGradOp : Train_TensorOp<"attention_grad", [],
                                           ["accumulates"]> {
  let summary = "gradients of attention in query, key and value";
  let description = [{
    Takes the results of the forward, and the gradient of one. `tokens` as in
    attention.
  }];
  let arguments = (ins Train_FloatTensor:$query, Train_FloatTensor:$key,
      Train_FloatTensor:$value, Train_FloatTensor:$result,
      Train_FloatTensor:$log_sum_exp, Train_FloatTensor:$grad,
      Optional<Train_AttentionMask>:$mask, F64Attr:$scale, UnitAttr:$causal,
      OptionalAttr<NamedEnumAttr<Train_KeySource>>:$tokens);
  let results = (outs Train_FloatTensor:$query_grad,
                      Train_FloatTensor:$key_grad,
                      Train_FloatTensor:$value_grad);
  let hasVerifier = 1;
}

def Train_LayerNormOp : Train_TensorOp<"layer_norm", [Train_Differentiable,
    Train_Precision<["takesAnyPrecision", "isStatistic"]>],
    ["mayShareBuffer"]> {
  let summary = "(x - mean) rstd scale + bias over the dims from `axis` on";
  let description = [{
    `scale` and `bias` have the normalised dims' shape; `mean` and `rstd` =
    1/sqrt(variance + epsilon) the shape of the dims before `axis`.
  }];
  let arguments = (ins Train_FloatTensor:$input, Train_FloatTensor:$scale,
                       Train_FloatTensor:$bias, I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs Train_FloatTensor:$result, Train_FloatTensor:$mean,
                      Train_FloatTensor:$rstd);
  let hasVerifier = 1;
}

def Train_LayerNormGradOp : Train_TensorOp<"layer_norm_grad", [],
                                           ["mayShareBuffer"]> {
  let summary = "gradient of layer_norm in its input";
  let arguments = (ins Train_FloatTensor:$input, Train_FloatTensor:$scale,
                       Train_FloatTensor:$mean, Train_FloatTensor:$rstd,
                       Train_FloatTensor:$grad, I64Attr:$axis);
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
}

def Train_BatchNormOp : Train_TensorOp<"batch_norm",
    [Train_Differentiable, Train_Images,
     Train_Precision<["takesAnyPrecision"]>], ["mayShareBuffer"]> {
  let summary = "(x - mean) / sqrt(variance + epsilon) scale + bias per channel";
  let description = [{
    With given statistics. Where `momentum` stands, `--zc-build-loss` replaces the
    op in the step program by `batch_norm_training` and updates the statistics:
    running' = running * momentum + batch * (1 - momentum), the batch variance
    being unbiased with `unbiased`.
  }];
  let arguments = (ins Train_FloatTensor:$input, Train_FloatTensor:$scale,
      Train_FloatTensor:$bias, Train_FloatTensor:$mean,
      Train_FloatTensor:$variance, I64Attr:$channel_dim, F64Attr:$epsilon,
      OptionalAttr<F64Attr>:$momentum, UnitAttr:$unbiased);
  let results = (outs Train_FloatTensor:$result);
  let extraClassDefinition = Train_ChannelDimAttr<"0", "0">.definition;
  let hasVerifier = 1;
}

def Train_BatchNormTrainingOp : Train_TensorOp<"batch_norm_training",
    [Train_Differentiable, Train_Images,
     Train_Precision<["takesAnyPrecision", "isStatistic"]>],
    ["mayShareBuffer"], ["decompose"]> {
  let summary = "batch normalisation with the batch's own statistics";
  let description = "`variance` is the biased one, which normalises.";
  let arguments = (ins Train_FloatTensor:$input, Train_FloatTensor:$scale,
                       Train_FloatTensor:$bias, I64Attr:$channel_dim,
                       F64Attr:$epsilon);
  let results = (outs Train_FloatTensor:$result, Train_FloatTensor:$mean,
                      Train_FloatTensor:$variance);
  let extraClassDefinition = Train_ChannelDimAttr<"0", "0">.definition;
  let hasVerifier = 1;
}

def Train_BatchNormGradOp : Train_TensorOp<"batch_norm_grad", [Train_Images],
                                           ["mayShareBuffer"], ["decompose"]> {
  let summary = "gradients of batch_norm_training in input, scale and bias";
  let arguments = (ins Train_FloatTensor:$input, Train_FloatTensor:$scale,
                       Train_FloatTensor:$mean, Train_FloatTensor:$variance,
                       Train_FloatTensor:$grad, I64Attr:$channel_dim,
                       F64Attr:$epsilon);
  let results = (outs Train_FloatTensor:$result, Train_FloatTensor:$scale_grad,
                      Train_FloatTensor:$bias_grad);
  let extraClassDefinition = Train_ChannelDimAttr<"0, 4", "0">.definition;
  let hasVerifier = 1;
}

def Train_ChannelMomentsOp : Train_TensorOp<"channel_moments"> {
  let summary = "means and squared deviations of channels, per part";
  let description = [{
    input [parts, rows, channels]; `mean` [parts, channels] is that of a part's
    rows, `deviations` the sum of (x - mean)^2 over them: the moments of all rows
    follow without a second pass over the input, and without cancellation.
  }];
  let arguments = (ins Train_FloatTensor:$input);
  let results = (outs Train_FloatTensor:$mean, Train_FloatTensor:$deviations);
  let hasVerifier = 1;
}

def Train_ChannelProductsOp : Train_TensorOp<"channel_products"> {
  let summary = "sums of grad and of grad (x - mean) per part and channel";
  let description = [{
    input and grad [parts, rows, channels], mean [channels]; `sum` and `product`
    [parts, channels].
  }];
  let arguments = (ins Train_FloatTensor:$input, Train_FloatTensor:$mean,
                       Train_FloatTensor:$grad);
  let results = (outs Train_FloatTensor:$sum, Train_FloatTensor:$product);
  let hasVerifier = 1;
}

def Train_SoftmaxCrossEntropyOp : Train_TensorOp<"softmax_cross_entropy",
    [Train_Differentiable, Train_Precision<["isStatistic"]>], [],
    ["getFinerRule", "decompose"]> {
  let summary = "-log softmax(logits)[label] per sample; 0 where ignored";
  let description = [{
    logits [samples..., classes], labels [samples...] of any integer type, loss and
    `log_sum_exp` [samples...]. A label equal to `ignore_index` gives loss 0; one
    that is no class stands for a logit of 0.
  }];
  let arguments = (ins Train_FloatTensor:$logits, Train_IntTensor:$labels,
                       I64Attr:$ignore_index);
  let results = (outs Train_FloatTensor:$loss, Train_FloatTensor:$log_sum_exp);
  let hasVerifier = 1;
}

def Train_SoftmaxCrossEntropyGradOp
    : Train_TensorOp<"softmax_cross_entropy_grad", [], ["mayShareBuffer"],
                     ["getFinerRule", "decompose"]> {
  let summary = "(softmax(logits) - onehot(label)) grad";
  let arguments = (ins Train_FloatTensor:$logits, Train_IntTensor:$labels,
                       Train_FloatTensor:$log_sum_exp, Train_FloatTensor:$grad,
                       I64Attr:$ignore_index);
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
}

def Train_GatherOp : Train_TensorOp<"gather", [Train_Differentiable], [],
                                    ["getFinerRule", "decompose"]> {
  let summary = "slices of `table` at `indices` along `dim`";
  let description = [{
    As ONNX's Gather: table [A..., V, B...], indices [I...], result
    [A..., I..., B...]. Negative indices count from the end; the host checks
    inputs, and an index out of range reads the nearest row. The slice at
    `padding_index` is read like any other but gets no gradient.

    With `batch_dims` the first so many dims of table, indices and result are one:
    [N..., A..., V, B...] and [N..., I...] give [N..., A..., I..., B...], each of
    the N its own rows. These dims may be divided, as no rank reads another's.
    ```mlir
    %2 = train.gather %0, %1 {dim = 1 : i64, batch_dims = 1 : i64}
       : (tensor<8x16x4xf32>, tensor<8x2xi64>) -> tensor<8x2x4xf32>
    ```
  }];
  let arguments = (ins Train_Tensor:$table, Train_IntTensor:$indices,
                       I64Attr:$dim, DefaultValuedAttr<I64Attr, "0">:$batch_dims,
                       OptionalAttr<I64Attr>:$padding_index);
  let results = (outs Train_Tensor:$result);
  let builders = [OpBuilder<
      (ins "::mlir::Type":$result, "::mlir::Value":$table,
           "::mlir::Value":$indices, "int64_t":$dim,
           CArg<"int64_t", "0">:$batchDims),
      [{ build($_builder, $_state, result, table, indices,
               $_builder.getI64IntegerAttr(dim),
               $_builder.getI64IntegerAttr(batchDims), ::mlir::IntegerAttr()); }]>];
  let hasVerifier = 1;
}

def Train_ScatterAddOp : Train_TensorOp<"scatter_add", [Train_Differentiable,
    AllTypesMatch<["init", "result"]>, Train_Precision<["getPrecision"]>],
    ["mayShareBuffer", "accumulates"], ["getFinerRule", "decompose"]> {
  let summary = "`init` plus `updates` added at `indices` along `dim`";
  let description = [{
    The gradient of gather, whose `batch_dims` it has. Equal indices add up, in
    index order.
  }];
  let arguments = (ins Train_FloatTensor:$init, Train_IntTensor:$indices,
                       Train_FloatTensor:$updates, I64Attr:$dim,
                       DefaultValuedAttr<I64Attr, "0">:$batch_dims);
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Train_ScatterReduceOp : Train_TensorOp<"scatter_reduce",
    [Train_Differentiable, AllTypesMatch<["init", "result"]>,
     Train_Precision<["getPrecision"]>], ["mayShareBuffer", "accumulates"]> {
  let summary = "max, min, prod, last of `init` and `updates` at `indices`";
  let description = [{
    As scatter_add, of integers too, of which alone there is a "sum"; "last" puts
    updates in place of what is there. Elements of `init` and `updates` that equal
    the extremum share its gradient evenly, as in PyTorch's scatter_reduce.
  }];
  let arguments = (ins NamedEnumAttr<Train_ScatterKind>:$kind,
      Train_Tensor:$init, Train_IntTensor:$indices, Train_Tensor:$updates,
      I64Attr:$dim,
      DefaultValuedAttr<I64Attr, "0">:$batch_dims);
  let results = (outs Train_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat =
      "$kind operands attr-dict `:` functional-type(operands, results)";
}

def Train_SparseEncodeOp : Train_TensorOp<"sparse_encode"> {
  let summary = "the elements that are not zero, one after the other";
  let description = [{
    For n elements in row-major order, bit i % 8 of byte i / 8 of `bits` [ceil(n /
    8)] says whether element i is anything but +0. `values` [capacity] holds those,
    in order within blocks of 4096 elements; block k's begin at `offsets`[k], and
    offsets [ceil(n / 4096) + 1] ends with how many there are. If these are more
    than the capacity, a library call fails; the linalg form drops the values that
    do not fit.
  }];
  let arguments = (ins Train_FloatTensor:$input);
  let results = (outs Train_IntTensor:$bits, Train_IntTensor:$offsets,
                      Train_FloatTensor:$values);
  let hasVerifier = 1;
}

def Train_SparseDecodeOp : Train_TensorOp<"sparse_decode"> {
  let summary = "the operand of `sparse_encode`, bit for bit";
  let arguments = (ins Train_IntTensor:$bits, Train_IntTensor:$offsets,
                       Train_FloatTensor:$values);
  let results = (outs Train_FloatTensor:$result);
  let hasVerifier = 1;
}

#endif // ZC_DIALECTS_TRAIN_COMPOSITEOPS_TD
