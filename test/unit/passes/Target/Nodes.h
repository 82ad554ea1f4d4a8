// The text of a described machine: nodes of 4 devices, of which each has quick
// links inside and a slow one outside. Its ways, and what else a test says of
// it, follow.
#ifndef ZC_TEST_UNIT_PASSES_TARGET_NODES_H
#define ZC_TEST_UNIT_PASSES_TARGET_NODES_H

namespace zc::test {

inline constexpr char kNodes[] = R"(
              machine = #sched.machine<name = "nodes", rates = [
                  #sched.rate<work = "kernel", type = "f32", flops = 1.0e12>,
                  #sched.rate<work = "matmul", type = "f32", flops = 2.0e13>,
                  #sched.rate<work = "matmul", type = "bf16", flops = 2.0e14>],
                bytes = 1.0e12, copy = 1.0e10, copy_seconds = 1.0e-5,
                host = 5.0e10, launch = 1.0e-6,
                links = [#sched.link<ranks = 4, seconds = 1.0e-6, bytes = 1.0e11>,
                         #sched.link<ranks = 64, seconds = 1.0e-5, bytes = 1.0e9>],
                ways = )";

} // namespace zc::test

#endif // ZC_TEST_UNIT_PASSES_TARGET_NODES_H
