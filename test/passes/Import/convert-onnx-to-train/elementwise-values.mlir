// Tests arithmetic, comparison and logic, with numbers from the reference evaluator of ONNX.
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
onnx.graph @main() -> (tensor<3xf64>, tensor<4xi64>, tensor<5xi64>, tensor<5xi64>, tensor<5xf64>, tensor<3xf64>, tensor<2x2xi1>, tensor<2x2xi1>, tensor<2x2xi1>, tensor<2xi1>, tensor<3xi1>, tensor<2xi1>, tensor<4xi1>, tensor<4xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xf64>, tensor<3xf64>, tensor<2xi64>, tensor<2xi64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2xf64>, tensor<2xi64>, tensor<2xf64>, tensor<3xf64>, tensor<2xf64>, tensor<3xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<3xf64>, tensor<3xf64>, tensor<4xf64>, tensor<2xf64>, tensor<3xf64>, tensor<2xf64>, tensor<3xf64>, tensor<3xi64>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xi64>, tensor<2x2xf64>)
    attributes {input_names = [], output_names = ["div", "div_integers", "mod", "fmod", "mod_floats", "mod_edges", "and", "or", "xor", "not", "equal", "equal_bools", "greater", "greater_or_equal", "less", "less_or_equal", "max", "min", "max_integers", "min_one", "sum", "mean", "neg", "neg_integers", "exp", "log", "sqrt", "erf", "sin", "cos", "tan", "sinh", "cosh", "asinh", "acosh", "atanh", "reciprocal", "sign", "sign_integers", "is_inf", "is_inf_positive", "is_inf_negative", "is_inf_neither", "pow", "pow_half", "pow_mixed", "pow_integers", "where"], opset_imports = {"ai.onnx" = 23 : i64}} {
  %c0 = onnx.initializer @c0 {value = dense<[1.0, -6.0, 3.0]> : tensor<3xf64>} : tensor<3xf64>
  %c1 = onnx.initializer @c1 {value = dense<4.0> : tensor<f64>} : tensor<f64>
  %c2 = onnx.initializer @c2 {value = dense<[7, -7, 7, -7]> : tensor<4xi64>} : tensor<4xi64>
  %c3 = onnx.initializer @c3 {value = dense<[2, 2, -2, -2]> : tensor<4xi64>} : tensor<4xi64>
  %c4 = onnx.initializer @c4 {value = dense<[7, -7, 7, -7, 6]> : tensor<5xi64>} : tensor<5xi64>
  %c5 = onnx.initializer @c5 {value = dense<[3, 3, -3, -3, 3]> : tensor<5xi64>} : tensor<5xi64>
  %c6 = onnx.initializer @c6 {value = dense<[5.5, -5.5, 5.5, -5.5, 6.0]> : tensor<5xf64>} : tensor<5xf64>
  %c7 = onnx.initializer @c7 {value = dense<[2.0, 2.0, -2.0, -2.0, 0x7FF0000000000000]> : tensor<5xf64>} : tensor<5xf64>
  %c8 = onnx.initializer @c8 {value = dense<[1.0, -1.0, 0x7FF0000000000000]> : tensor<3xf64>} : tensor<3xf64>
  %c9 = onnx.initializer @c9 {value = dense<[0.0, 0x7FF0000000000000, 2.0]> : tensor<3xf64>} : tensor<3xf64>
  %c10 = onnx.initializer @c10 {value = dense<[[false, true]]> : tensor<1x2xi1>} : tensor<1x2xi1>
  %c11 = onnx.initializer @c11 {value = dense<[[false], [true]]> : tensor<2x1xi1>} : tensor<2x1xi1>
  %c12 = onnx.initializer @c12 {value = dense<[false, true]> : tensor<2xi1>} : tensor<2xi1>
  %c13 = onnx.initializer @c13 {value = dense<[1.0, 2.0, 0x7FF8000000000000]> : tensor<3xf64>} : tensor<3xf64>
  %c14 = onnx.initializer @c14 {value = dense<[1.0, 3.0, 0x7FF8000000000000]> : tensor<3xf64>} : tensor<3xf64>
  %c15 = onnx.initializer @c15 {value = dense<[true, true]> : tensor<2xi1>} : tensor<2xi1>
  %c16 = onnx.initializer @c16 {value = dense<[1.0, 2.0, 0x7FF8000000000000, 3.0]> : tensor<4xf64>} : tensor<4xf64>
  %c17 = onnx.initializer @c17 {value = dense<[1.0, 3.0, 1.0, 2.0]> : tensor<4xf64>} : tensor<4xf64>
  %c18 = onnx.initializer @c18 {value = dense<[-1, 2, 3]> : tensor<3xi64>} : tensor<3xi64>
  %c19 = onnx.initializer @c19 {value = dense<[1, 2, -3]> : tensor<3xi64>} : tensor<3xi64>
  %c20 = onnx.initializer @c20 {value = dense<[1.0, 5.0, 0x7FF8000000000000]> : tensor<3xf64>} : tensor<3xf64>
  %c21 = onnx.initializer @c21 {value = dense<[3.0, 2.0, 1.0]> : tensor<3xf64>} : tensor<3xf64>
  %c22 = onnx.initializer @c22 {value = dense<2.0> : tensor<f64>} : tensor<f64>
  %c23 = onnx.initializer @c23 {value = dense<[1, -5]> : tensor<2xi64>} : tensor<2xi64>
  %c24 = onnx.initializer @c24 {value = dense<[3, -7]> : tensor<2xi64>} : tensor<2xi64>
  %c25 = onnx.initializer @c25 {value = dense<[[1.0], [2.0]]> : tensor<2x1xf64>} : tensor<2x1xf64>
  %c26 = onnx.initializer @c26 {value = dense<[10.0, 20.0]> : tensor<2xf64>} : tensor<2xf64>
  %c27 = onnx.initializer @c27 {value = dense<0.5> : tensor<f64>} : tensor<f64>
  %c28 = onnx.initializer @c28 {value = dense<[1.5, -2.0]> : tensor<2xf64>} : tensor<2xf64>
  %c29 = onnx.initializer @c29 {value = dense<[3, -2]> : tensor<2xi64>} : tensor<2xi64>
  %c30 = onnx.initializer @c30 {value = dense<[0.0, 1.0]> : tensor<2xf64>} : tensor<2xf64>
  %c31 = onnx.initializer @c31 {value = dense<[1.0, 0.5, 0.0]> : tensor<3xf64>} : tensor<3xf64>
  %c32 = onnx.initializer @c32 {value = dense<[4.0, 2.0]> : tensor<2xf64>} : tensor<2xf64>
  %c33 = onnx.initializer @c33 {value = dense<[-0.5, 0.0, 2.0]> : tensor<3xf64>} : tensor<3xf64>
  %c34 = onnx.initializer @c34 {value = dense<[-1.0, 0.0, 2.0]> : tensor<3xf64>} : tensor<3xf64>
  %c35 = onnx.initializer @c35 {value = dense<[-1000000.0, -1.0, 0.0, 2.0]> : tensor<4xf64>} : tensor<4xf64>
  %c36 = onnx.initializer @c36 {value = dense<[1.0, 2.0]> : tensor<2xf64>} : tensor<2xf64>
  %c37 = onnx.initializer @c37 {value = dense<[-0.5, 0.0, 0.75]> : tensor<3xf64>} : tensor<3xf64>
  %c38 = onnx.initializer @c38 {value = dense<[4.0, -0.5]> : tensor<2xf64>} : tensor<2xf64>
  %c39 = onnx.initializer @c39 {value = dense<[-3.0, 0.0, 0.5]> : tensor<3xf64>} : tensor<3xf64>
  %c40 = onnx.initializer @c40 {value = dense<[-3, 0, 5]> : tensor<3xi64>} : tensor<3xi64>
  %c41 = onnx.initializer @c41 {value = dense<[0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 1.0]> : tensor<4xf64>} : tensor<4xf64>
  %c42 = onnx.initializer @c42 {value = dense<[-2.0, 3.0]> : tensor<2xf64>} : tensor<2xf64>
  %c43 = onnx.initializer @c43 {value = dense<-1.0> : tensor<f64>} : tensor<f64>
  %c44 = onnx.initializer @c44 {value = dense<[4.0, 9.0]> : tensor<2xf64>} : tensor<2xf64>
  %c45 = onnx.initializer @c45 {value = dense<-0.5> : tensor<f64>} : tensor<f64>
  %c46 = onnx.initializer @c46 {value = dense<[2.0, 3.0]> : tensor<2xf64>} : tensor<2xf64>
  %c47 = onnx.initializer @c47 {value = dense<[3, 2]> : tensor<2xi64>} : tensor<2xi64>
  %c48 = onnx.initializer @c48 {value = dense<[2, -3]> : tensor<2xi64>} : tensor<2xi64>
  %c49 = onnx.initializer @c49 {value = dense<[5, 3]> : tensor<2xi64>} : tensor<2xi64>
  %c50 = onnx.initializer @c50 {value = dense<[[true], [false]]> : tensor<2x1xi1>} : tensor<2x1xi1>
  %div = onnx.node "Div"(%c0, %c1) {since_version = 14 : i64}
    : (tensor<3xf64>, tensor<f64>) -> tensor<3xf64>
  // CHECK: {{^}}div: f [3] = 0.25 -1.5 0.75{{$}}
  // Integers are truncated.
  %div_integers = onnx.node "Div"(%c2, %c3) {since_version = 14 : i64}
    : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  // CHECK: {{^}}div_integers: i [4] = 3 -3 -3 3{{$}}
  // The divisor's sign, as numpy.mod.
  %mod = onnx.node "Mod"(%c4, %c5) {since_version = 13 : i64}
    : (tensor<5xi64>, tensor<5xi64>) -> tensor<5xi64>
  // CHECK: {{^}}mod: i [5] = 1 2 -2 -1 0{{$}}
  // The dividend's sign, as C.
  %fmod = onnx.node "Mod"(%c4, %c5) {since_version = 13 : i64, node_attributes = {fmod = 1 : i64}}
    : (tensor<5xi64>, tensor<5xi64>) -> tensor<5xi64>
  // CHECK: {{^}}fmod: i [5] = 1 -1 1 -1 0{{$}}
  %mod_floats = onnx.node "Mod"(%c6, %c7) {since_version = 13 : i64, node_attributes = {fmod = 1 : i64}}
    : (tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
  // CHECK: {{^}}mod_floats: f [5] = 1.5 -1.5 1.5 -1.5 6{{$}}
  // Divisors 0 and infinity, and an infinite dividend.
  %mod_edges = onnx.node "Mod"(%c8, %c9) {since_version = 13 : i64, node_attributes = {fmod = 1 : i64}}
    : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  // CHECK: {{^}}mod_edges: f [3] = {{-?nan}} -1 {{-?nan}}{{$}}
  %and = onnx.node "And"(%c10, %c11) {since_version = 7 : i64}
    : (tensor<1x2xi1>, tensor<2x1xi1>) -> tensor<2x2xi1>
  // CHECK: {{^}}and: i [2, 2] = 0 0 0 1{{$}}
  %or = onnx.node "Or"(%c10, %c11) {since_version = 7 : i64}
    : (tensor<1x2xi1>, tensor<2x1xi1>) -> tensor<2x2xi1>
  // CHECK: {{^}}or: i [2, 2] = 0 1 1 1{{$}}
  %xor = onnx.node "Xor"(%c10, %c11) {since_version = 7 : i64}
    : (tensor<1x2xi1>, tensor<2x1xi1>) -> tensor<2x2xi1>
  // CHECK: {{^}}xor: i [2, 2] = 0 1 1 0{{$}}
  %not = onnx.node "Not"(%c12) {since_version = 1 : i64}
    : (tensor<2xi1>) -> tensor<2xi1>
  // CHECK: {{^}}not: i [2] = 1 0{{$}}
  %equal = onnx.node "Equal"(%c13, %c14) {since_version = 19 : i64}
    : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xi1>
  // CHECK: {{^}}equal: i [3] = 1 0 0{{$}}
  %equal_bools = onnx.node "Equal"(%c12, %c15) {since_version = 19 : i64}
    : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  // CHECK: {{^}}equal_bools: i [2] = 0 1{{$}}
  %greater = onnx.node "Greater"(%c16, %c17) {since_version = 13 : i64}
    : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>
  // CHECK: {{^}}greater: i [4] = 0 0 0 1{{$}}
  %greater_or_equal = onnx.node "GreaterOrEqual"(%c16, %c17) {since_version = 16 : i64}
    : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>
  // CHECK: {{^}}greater_or_equal: i [4] = 1 0 0 1{{$}}
  %less = onnx.node "Less"(%c18, %c19) {since_version = 13 : i64}
    : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
  // CHECK: {{^}}less: i [3] = 1 0 0{{$}}
  %less_or_equal = onnx.node "LessOrEqual"(%c18, %c19) {since_version = 16 : i64}
    : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
  // CHECK: {{^}}less_or_equal: i [3] = 1 1 0{{$}}
  // Of any number; NaN stays.
  %max = onnx.node "Max"(%c20, %c21, %c22) {since_version = 13 : i64}
    : (tensor<3xf64>, tensor<3xf64>, tensor<f64>) -> tensor<3xf64>
  // CHECK: {{^}}max: f [3] = 3 5 {{-?nan}}{{$}}
  %min = onnx.node "Min"(%c20, %c21, %c22) {since_version = 13 : i64}
    : (tensor<3xf64>, tensor<3xf64>, tensor<f64>) -> tensor<3xf64>
  // CHECK: {{^}}min: f [3] = 1 2 {{-?nan}}{{$}}
  %max_integers = onnx.node "Max"(%c23, %c24) {since_version = 13 : i64}
    : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  // CHECK: {{^}}max_integers: i [2] = 3 -5{{$}}
  %min_one = onnx.node "Min"(%c23) {since_version = 13 : i64}
    : (tensor<2xi64>) -> tensor<2xi64>
  // CHECK: {{^}}min_one: i [2] = 1 -5{{$}}
  %sum = onnx.node "Sum"(%c25, %c26, %c27) {since_version = 13 : i64}
    : (tensor<2x1xf64>, tensor<2xf64>, tensor<f64>) -> tensor<2x2xf64>
  // CHECK: {{^}}sum: f [2, 2] = 11.5 21.5 12.5 22.5{{$}}
  %mean = onnx.node "Mean"(%c25, %c26) {since_version = 13 : i64}
    : (tensor<2x1xf64>, tensor<2xf64>) -> tensor<2x2xf64>
  // CHECK: {{^}}mean: f [2, 2] = 5.5 10.5 6 11{{$}}
  %neg = onnx.node "Neg"(%c28) {since_version = 13 : i64}
    : (tensor<2xf64>) -> tensor<2xf64>
  // CHECK: {{^}}neg: f [2] = -1.5 2{{$}}
  %neg_integers = onnx.node "Neg"(%c29) {since_version = 13 : i64}
    : (tensor<2xi64>) -> tensor<2xi64>
  // CHECK: {{^}}neg_integers: i [2] = -3 2{{$}}
  %exp = onnx.node "Exp"(%c30) {since_version = 13 : i64}
    : (tensor<2xf64>) -> tensor<2xf64>
  // CHECK: {{^}}exp: f [2] = 1 2.718281{{[0-9]*}}{{$}}
  %log = onnx.node "Log"(%c31) {since_version = 13 : i64}
    : (tensor<3xf64>) -> tensor<3xf64>
  // CHECK: {{^}}log: f [3] = 0 -0.6931471{{[0-9]*}} -inf{{$}}
  %sqrt = onnx.node "Sqrt"(%c32) {since_version = 13 : i64}
    : (tensor<2xf64>) -> tensor<2xf64>
  // CHECK: {{^}}sqrt: f [2] = 2 1.414213{{[0-9]*}}{{$}}
  %erf = onnx.node "Erf"(%c33) {since_version = 13 : i64}
    : (tensor<3xf64>) -> tensor<3xf64>
  // CHECK: {{^}}erf: f [3] = -0.5204998{{[0-9]*}} 0 0.9953222{{[0-9]*}}{{$}}
  %sin = onnx.node "Sin"(%c30) {since_version = 22 : i64}
    : (tensor<2xf64>) -> tensor<2xf64>
  // CHECK: {{^}}sin: f [2] = 0 0.8414709{{[0-9]*}}{{$}}
  %cos = onnx.node "Cos"(%c30) {since_version = 22 : i64}
    : (tensor<2xf64>) -> tensor<2xf64>
  // CHECK: {{^}}cos: f [2] = 1 0.5403023{{[0-9]*}}{{$}}
  %tan = onnx.node "Tan"(%c30) {since_version = 22 : i64}
    : (tensor<2xf64>) -> tensor<2xf64>
  // CHECK: {{^}}tan: f [2] = 0 1.557407{{[0-9]*}}{{$}}
  %sinh = onnx.node "Sinh"(%c34) {since_version = 22 : i64}
    : (tensor<3xf64>) -> tensor<3xf64>
  // CHECK: {{^}}sinh: f [3] = -1.175201{{[0-9]*}} 0 3.626860{{[0-9]*}}{{$}}
  %cosh = onnx.node "Cosh"(%c34) {since_version = 22 : i64}
    : (tensor<3xf64>) -> tensor<3xf64>
  // CHECK: {{^}}cosh: f [3] = 1.543080{{[0-9]*}} 1 3.762195{{[0-9]*}}{{$}}
  // Of a large negative number no digits are lost.
  %asinh = onnx.node "Asinh"(%c35) {since_version = 22 : i64}
    : (tensor<4xf64>) -> tensor<4xf64>
  // CHECK: {{^}}asinh: f [4] = -14.50865{{[0-9]*}} -0.8813735{{[0-9]*}} 0 1.443635{{[0-9]*}}{{$}}
  %acosh = onnx.node "Acosh"(%c36) {since_version = 22 : i64}
    : (tensor<2xf64>) -> tensor<2xf64>
  // CHECK: {{^}}acosh: f [2] = 0 1.316957{{[0-9]*}}{{$}}
  %atanh = onnx.node "Atanh"(%c37) {since_version = 22 : i64}
    : (tensor<3xf64>) -> tensor<3xf64>
  // CHECK: {{^}}atanh: f [3] = -0.5493061{{[0-9]*}} 0 0.9729550{{[0-9]*}}{{$}}
  %reciprocal = onnx.node "Reciprocal"(%c38) {since_version = 13 : i64}
    : (tensor<2xf64>) -> tensor<2xf64>
  // CHECK: {{^}}reciprocal: f [2] = 0.25 -2{{$}}
  %sign = onnx.node "Sign"(%c39) {since_version = 13 : i64}
    : (tensor<3xf64>) -> tensor<3xf64>
  // CHECK: {{^}}sign: f [3] = -1 0 1{{$}}
  %sign_integers = onnx.node "Sign"(%c40) {since_version = 13 : i64}
    : (tensor<3xi64>) -> tensor<3xi64>
  // CHECK: {{^}}sign_integers: i [3] = -1 0 1{{$}}
  %is_inf = onnx.node "IsInf"(%c41) {since_version = 20 : i64}
    : (tensor<4xf64>) -> tensor<4xi1>
  // CHECK: {{^}}is_inf: i [4] = 1 1 0 0{{$}}
  %is_inf_positive = onnx.node "IsInf"(%c41) {since_version = 20 : i64, node_attributes = {detect_negative = 0 : i64}}
    : (tensor<4xf64>) -> tensor<4xi1>
  // CHECK: {{^}}is_inf_positive: i [4] = 1 0 0 0{{$}}
  %is_inf_negative = onnx.node "IsInf"(%c41) {since_version = 20 : i64, node_attributes = {detect_positive = 0 : i64}}
    : (tensor<4xf64>) -> tensor<4xi1>
  // CHECK: {{^}}is_inf_negative: i [4] = 0 1 0 0{{$}}
  %is_inf_neither = onnx.node "IsInf"(%c41) {since_version = 20 : i64, node_attributes = {detect_positive = 0 : i64, detect_negative = 0 : i64}}
    : (tensor<4xf64>) -> tensor<4xi1>
  // CHECK: {{^}}is_inf_neither: i [4] = 0 0 0 0{{$}}
  %pow = onnx.node "Pow"(%c42, %c43) {since_version = 15 : i64}
    : (tensor<2xf64>, tensor<f64>) -> tensor<2xf64>
  // CHECK: {{^}}pow: f [2] = -0.5 0.3333333{{[0-9]*}}{{$}}
  %pow_half = onnx.node "Pow"(%c44, %c45) {since_version = 15 : i64}
    : (tensor<2xf64>, tensor<f64>) -> tensor<2xf64>
  // CHECK: {{^}}pow_half: f [2] = 0.5 0.3333333{{[0-9]*}}{{$}}
  // The exponent's type is its own.
  %pow_mixed = onnx.node "Pow"(%c46, %c47) {since_version = 15 : i64}
    : (tensor<2xf64>, tensor<2xi64>) -> tensor<2xf64>
  // CHECK: {{^}}pow_mixed: f [2] = 8 9{{$}}
  %pow_integers = onnx.node "Pow"(%c48, %c49) {since_version = 15 : i64}
    : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  // CHECK: {{^}}pow_integers: i [2] = 32 -27{{$}}
  %where = onnx.node "Where"(%c50, %c36, %c43) {since_version = 16 : i64}
    : (tensor<2x1xi1>, tensor<2xf64>, tensor<f64>) -> tensor<2x2xf64>
  // CHECK: {{^}}where: f [2, 2] = 1 2 -1 -1{{$}}
  onnx.return %div, %div_integers, %mod, %fmod, %mod_floats, %mod_edges, %and, %or, %xor, %not, %equal, %equal_bools, %greater, %greater_or_equal, %less, %less_or_equal, %max, %min, %max_integers, %min_one, %sum, %mean, %neg, %neg_integers, %exp, %log, %sqrt, %erf, %sin, %cos, %tan, %sinh, %cosh, %asinh, %acosh, %atanh, %reciprocal, %sign, %sign_integers, %is_inf, %is_inf_positive, %is_inf_negative, %is_inf_neither, %pow, %pow_half, %pow_mixed, %pow_integers, %where : tensor<3xf64>, tensor<4xi64>, tensor<5xi64>, tensor<5xi64>, tensor<5xf64>, tensor<3xf64>, tensor<2x2xi1>, tensor<2x2xi1>, tensor<2x2xi1>, tensor<2xi1>, tensor<3xi1>, tensor<2xi1>, tensor<4xi1>, tensor<4xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xf64>, tensor<3xf64>, tensor<2xi64>, tensor<2xi64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2xf64>, tensor<2xi64>, tensor<2xf64>, tensor<3xf64>, tensor<2xf64>, tensor<3xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<3xf64>, tensor<3xf64>, tensor<4xf64>, tensor<2xf64>, tensor<3xf64>, tensor<2xf64>, tensor<3xf64>, tensor<3xi64>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xi64>, tensor<2x2xf64>
}
