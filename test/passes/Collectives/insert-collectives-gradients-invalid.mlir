// RUN: zc-opt %s --verify-diagnostics --zc-insert-collectives=gradients=fp8

// expected-error @+1 {{gradients: expected fp32 or bf16, found 'fp8'}}
module attributes {dist.mesh = #dist.mesh<dp=2>} {
}
