// Arrays aligned to cache lines, for aligned vector loads.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace spindrift {

template <class T> struct CacheLineAllocator {
    using value_type = T;
    static constexpr std::align_val_t kLine{64};

    CacheLineAllocator() = default;
    template <class U> CacheLineAllocator(const CacheLineAllocator<U>&) {}
    T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
    void deallocate(T* p, size_t) { ::operator delete(p, kLine); }
    template <class U> bool operator==(const CacheLineAllocator<U>&) const { return true; }
};

template <class T> using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

} // namespace spindrift
