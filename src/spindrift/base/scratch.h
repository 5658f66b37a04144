// Scratch memory of the current thread, kept between calls.
//
// Kernels that run once per tile need a few kilobytes of working memory. On the stack these would have to be
// constructed for every tile, and a heap allocation per tile costs more than many kernels do. thread_scratch() returns
// an object that each thread constructs once, at its first call, and keeps until the thread ends:
//
//     for_each_tile(topology, [&](int tile) {
//         auto& block = thread_scratch<Block<float, 1>>();
//         block.gather(field, tile);
//         for_each_row([&](int x, int y, int o) { ... block.at(x, y, 0) ... });
//     });
//
// Why a reference, and not a thread_local variable in the loop body: lambdas do not capture thread_local variables. A
// nested lambda that names one looks it up anew, and finds another object if it runs on another thread. A captured
// reference stays bound to the object of the thread that called thread_scratch(), and costs one look-up.
//
// Rules
// - Every call site has an object of its own (see Tag), so two calls in one function never share memory. In a function
//   template it is one call site for all instantiations with the same T.
// - The contents are those of the last use on this thread: results must not depend on them.
// - Do not call it in a function that may run again on the same thread before the first use ends: by recursion, or
//   because a thread that waits for a nested parallel loop may execute another iteration of the outer one.
#pragma once

namespace spindrift {

// Every use of the default Tag is a lambda expression of its own, hence a type of its own.
template <class T, class Tag = decltype([] {})> T& thread_scratch()
{
    thread_local T scratch;
    return scratch;
}

} // namespace spindrift
