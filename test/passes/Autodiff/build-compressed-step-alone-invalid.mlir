// RUN: zc-opt %s --verify-diagnostics --zc-build-compressed-step

// expected-error @+1 {{expected @apply.compressed with gradients}}
module {}
