// RUN: zc-opt %s --verify-diagnostics --zc-divide-messages

// Tests that the pass asks for a mesh.
// expected-error @+1 {{has no dist.mesh; run --zc-annotate-mesh}}
module {
}
