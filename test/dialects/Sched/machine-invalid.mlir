// RUN: zc-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{expected rates above 0 of machine 'nodes', found 0.0}}
#machine = #sched.machine<name = "nodes", rates = [#sched.rate<work = "kernel", type = "f32", flops = 1.0e12>], bytes = 0.0, copy = 1.0e10, copy_seconds = 0.0,
    host = 5.0e10, launch = 1.0e-6,
    links = [#sched.link<ranks = 4, seconds = 1.0e-6, bytes = 1.0e11>,
             #sched.link<ranks = 64, seconds = 1.0e-5, bytes = 1.0e9>],
    ways = ["ring", "tree"], axes = ["dp", "tp"], sizes = [4, 2]>
module attributes {sched.target = #sched.target<device = "cpu", machine = #machine>} {
}

// -----

// expected-error @below {{expected a launch and a copy of at least 0 seconds, found -1.0}}
#machine = #sched.machine<name = "nodes", rates = [#sched.rate<work = "kernel", type = "f32", flops = 1.0e12>], bytes = 1.0e12, copy = 1.0e10, copy_seconds = 0.0,
    host = 5.0e10, launch = -1.0,
    links = [#sched.link<ranks = 4, seconds = 1.0e-6, bytes = 1.0e11>,
             #sched.link<ranks = 64, seconds = 1.0e-5, bytes = 1.0e9>],
    ways = ["ring", "tree"], axes = ["dp", "tp"], sizes = [4, 2]>
module attributes {sched.target = #sched.target<device = "cpu", machine = #machine>} {
}

// -----

// expected-error @below {{expected a list of #sched.rate, found [1]}}
#machine = #sched.machine<name = "nodes", rates = [1], bytes = 1.0e12, copy = 1.0e10, copy_seconds = 0.0,
    host = 5.0e10, launch = 1.0e-6,
    links = [#sched.link<ranks = 4, seconds = 1.0e-6, bytes = 1.0e11>,
             #sched.link<ranks = 64, seconds = 1.0e-5, bytes = 1.0e9>],
    ways = ["ring", "tree"], axes = ["dp", "tp"], sizes = [4, 2]>
module attributes {sched.target = #sched.target<device = "cpu", machine = #machine>} {
}

// -----

// expected-error @below {{expected a rate of "kernel" of f32 among}}
#machine = #sched.machine<name = "nodes", rates = [#sched.rate<work = "matmul", type = "f32", flops = 1.0e12>], bytes = 1.0e12, copy = 1.0e10, copy_seconds = 0.0,
    host = 5.0e10, launch = 1.0e-6,
    links = [#sched.link<ranks = 4, seconds = 1.0e-6, bytes = 1.0e11>,
             #sched.link<ranks = 64, seconds = 1.0e-5, bytes = 1.0e9>],
    ways = ["ring", "tree"], axes = ["dp", "tp"], sizes = [4, 2]>
module attributes {sched.target = #sched.target<device = "cpu", machine = #machine>} {
}

// -----

// expected-error @below {{expected links of machine 'nodes', found []}}
#machine = #sched.machine<name = "nodes", rates = [#sched.rate<work = "kernel", type = "f32", flops = 1.0e12>], bytes = 1.0e12, copy = 1.0e10, copy_seconds = 0.0,
    host = 5.0e10, launch = 1.0e-6,
    links = [],
    ways = ["ring", "tree"], axes = ["dp", "tp"], sizes = [4, 2]>
module attributes {sched.target = #sched.target<device = "cpu", machine = #machine>} {
}

// -----

// expected-error @below {{expected links of a multiple of 4 ranks, found #sched.link<ranks = 65}}
#machine = #sched.machine<name = "nodes", rates = [#sched.rate<work = "kernel", type = "f32", flops = 1.0e12>], bytes = 1.0e12, copy = 1.0e10, copy_seconds = 0.0,
    host = 5.0e10, launch = 1.0e-6,
    links = [#sched.link<ranks = 4, seconds = 1.0e-6, bytes = 1.0e11>,
             #sched.link<ranks = 65, seconds = 1.0e-5, bytes = 1.0e9>],
    ways = ["ring", "tree"], axes = ["dp", "tp"], sizes = [4, 2]>
module attributes {sched.target = #sched.target<device = "cpu", machine = #machine>} {
}

// -----

// expected-error @below {{expected ways that are strings, found [1]}}
#machine = #sched.machine<name = "nodes", rates = [#sched.rate<work = "kernel", type = "f32", flops = 1.0e12>], bytes = 1.0e12, copy = 1.0e10, copy_seconds = 0.0,
    host = 5.0e10, launch = 1.0e-6,
    links = [#sched.link<ranks = 4, seconds = 1.0e-6, bytes = 1.0e11>,
             #sched.link<ranks = 64, seconds = 1.0e-5, bytes = 1.0e9>],
    ways = [1], axes = ["dp", "tp"], sizes = [4, 2]>
module attributes {sched.target = #sched.target<device = "cpu", machine = #machine>} {
}

// -----

// expected-error @below {{expected ways ring, tree, doubling, rabenseifner, hierarchical, found 'star'}}
#machine = #sched.machine<name = "nodes", rates = [#sched.rate<work = "kernel", type = "f32", flops = 1.0e12>], bytes = 1.0e12, copy = 1.0e10, copy_seconds = 0.0,
    host = 5.0e10, launch = 1.0e-6,
    links = [#sched.link<ranks = 4, seconds = 1.0e-6, bytes = 1.0e11>,
             #sched.link<ranks = 64, seconds = 1.0e-5, bytes = 1.0e9>],
    ways = ["ring", "star"], axes = ["dp", "tp"], sizes = [4, 2]>
module attributes {sched.target = #sched.target<device = "cpu", machine = #machine>} {
}

// -----

// expected-error @below {{expected axes that are strings, found [1, 2]}}
#machine = #sched.machine<name = "nodes", rates = [#sched.rate<work = "kernel", type = "f32", flops = 1.0e12>], bytes = 1.0e12, copy = 1.0e10, copy_seconds = 0.0,
    host = 5.0e10, launch = 1.0e-6,
    links = [#sched.link<ranks = 4, seconds = 1.0e-6, bytes = 1.0e11>,
             #sched.link<ranks = 64, seconds = 1.0e-5, bytes = 1.0e9>],
    ways = ["ring", "tree"], axes = [1, 2], sizes = [4, 2]>
module attributes {sched.target = #sched.target<device = "cpu", machine = #machine>} {
}

// -----

// expected-error @below {{expected a size for each axis, found array<i64: 4>}}
#machine = #sched.machine<name = "nodes", rates = [#sched.rate<work = "kernel", type = "f32", flops = 1.0e12>], bytes = 1.0e12, copy = 1.0e10, copy_seconds = 0.0,
    host = 5.0e10, launch = 1.0e-6,
    links = [#sched.link<ranks = 4, seconds = 1.0e-6, bytes = 1.0e11>,
             #sched.link<ranks = 64, seconds = 1.0e-5, bytes = 1.0e9>],
    ways = ["ring", "tree"], axes = ["dp", "tp"], sizes = [4]>
module attributes {sched.target = #sched.target<device = "cpu", machine = #machine>} {
}

// -----

// expected-error @below {{expected a link of at least 1 rank, found 0}}
#link = #sched.link<ranks = 0, seconds = 1.0, bytes = 1.0>
module attributes {test.link = #link} {
}

// -----

// expected-error @below {{expected a link of at least 0 seconds and more than 0 bytes, found}}
#link = #sched.link<ranks = 2, seconds = 1.0, bytes = 0.0>
module attributes {test.link = #link} {
}

// -----

// expected-error @below {{expected a rate of type f32, f64, f16, bf16, f8, found 'f4'}}
#rate = #sched.rate<work = "matmul", type = "f4", flops = 1.0>
module attributes {test.rate = #rate} {
}

// -----

// expected-error @below {{expected more than 0 FLOPs a second of 'matmul', found 0.0}}
#rate = #sched.rate<work = "matmul", type = "f32", flops = 0.0>
module attributes {test.rate = #rate} {
}

// -----

// expected-error @below {{expected a rate of work kernel, matmul, attention, attention_backward, convolution, found 'matmull'}}
#rate = #sched.rate<work = "matmull", type = "f32", flops = 1.0>
module attributes {test.rate = #rate} {
}

// -----

// expected-error @below {{expected one rate of 'kernel' of f32, found more}}
#machine = #sched.machine<name = "nodes", rates = [#sched.rate<work = "kernel", type = "f32", flops = 1.0e12>, #sched.rate<work = "kernel", type = "f32", flops = 2.0e12>],
    bytes = 1.0e12, copy = 1.0e10, copy_seconds = 0.0, host = 5.0e10, launch = 1.0e-6,
    links = [#sched.link<ranks = 4, seconds = 1.0e-6, bytes = 1.0e11>],
    ways = ["ring"], axes = ["dp"], sizes = [4]>
module attributes {sched.target = #sched.target<device = "cpu", machine = #machine>} {
}
