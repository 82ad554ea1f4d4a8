// RUN: zc-opt %s --verify-diagnostics --zc-roll-amax

// expected-error @+1 {{expected @step or @apply}}
module {
}
