// RUN: not zc-opt %s --zc-divide-residuals 2>&1 | FileCheck %s

// CHECK: error: has no dist.mesh; run --zc-annotate-mesh
module {
}
