// SPDX-License-Identifier: MIT
package org.libdwarfs;

import java.lang.ref.Cleaner;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;
import java.util.function.LongUnaryOperator;

/**
 * Owner of a pointer to an object of the C library. It counts the calls that use the pointer,
 * and frees it once, when it is closed and the last of them has ended. A child holds a use of
 * its parent until it is freed.
 */
final class Handle implements AutoCloseable {
    private static final Cleaner CLEANER = Cleaner.create();
    private static final AtomicLong LIVE = new AtomicLong();

    /** Everything but the owner, so that the owner can be collected. */
    private static final class State implements Runnable {
        private static final long CLOSED = 1;
        private static final long USE = 2;

        private final AtomicLong uses = new AtomicLong();
        private final long pointer;
        private final LongConsumer free;
        private final State parent;
        private final List<Long> references = new ArrayList<>();
        private Runnable last;

        State(long pointer, LongConsumer free, State parent) {
            this.pointer = pointer;
            this.free = free;
            this.parent = parent;
        }

        boolean acquire() {
            long now = uses.get();
            while ((now & CLOSED) == 0) {
                if (uses.compareAndSet(now, now + USE)) {
                    return true;
                }
                now = uses.get();
            }
            return false;
        }

        void release() {
            if (uses.addAndGet(-USE) == CLOSED) {
                free();
            }
        }

        /** Close: by the owner, or by the cleaner when that is gone. */
        @Override
        public void run() {
            if (uses.getAndUpdate(now -> now | CLOSED) == 0) {
                free();
            }
        }

        private void free() {
            free.accept(pointer);
            synchronized (references) {
                references.forEach(dwarfsJNI::dwarfs_java_release);
            }
            LIVE.decrementAndGet();
            if (last != null) {
                last.run();
            }
            if (parent != null) {
                parent.release();
            }
        }
    }

    private final String what;
    private final State state;
    private final Cleaner.Cleanable cleanable;
    // The library refers to them weakly.
    private final List<Object> kept = new ArrayList<>();

    /** @param what a noun for messages */
    Handle(String what, long pointer, LongConsumer free) {
        this(what, pointer, free, null);
    }

    /** @param parent is in use until this handle is freed; acquired by this constructor */
    Handle(String what, long pointer, LongConsumer free, Handle parent) {
        if (parent != null && !parent.state.acquire()) {
            free.accept(pointer);
            throw parent.closed();
        }
        this.what = what;
        this.state = new State(pointer, free, parent == null ? null : parent.state);
        LIVE.incrementAndGet();
        this.cleanable = CLEANER.register(this, state);
    }

    static long live() {
        return LIVE.get();
    }

    IllegalStateException closed() {
        return new IllegalStateException("the " + what + " is closed");
    }

    boolean isOpen() {
        return (state.uses.get() & State.CLOSED) == 0;
    }

    /** The pointer, for a call that ends with {@link #release}. */
    long acquire() {
        if (!state.acquire()) {
            throw closed();
        }
        return state.pointer;
    }

    /** As acquire(), but 0 if the handle is closed. */
    long tryAcquire() {
        return state.acquire() ? state.pointer : 0;
    }

    void release() {
        state.release();
    }

    /** The result of a call that cannot fail. */
    long number(LongUnaryOperator call) {
        long pointer = acquire();
        try {
            return call.applyAsLong(pointer);
        } finally {
            release();
        }
    }

    /** Keep an object alive for as long as the owner. */
    void keep(Object object) {
        synchronized (kept) {
            kept.add(object);
        }
    }

    /** A reference for the library, released after the pointer is freed; 0 for null. */
    long reference(Callback callback) {
        if (callback == null) {
            return 0;
        }
        keep(callback);
        long reference = dwarfsJNI.dwarfs_java_reference(callback);
        synchronized (state.references) {
            state.references.add(reference);
        }
        return reference;
    }

    /** What is done after the pointer is freed; must not refer to the owner. */
    void last(Runnable action) {
        state.last = action;
    }

    @Override
    public void close() {
        cleanable.clean();
    }
}
