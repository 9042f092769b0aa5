// SPDX-License-Identifier: MIT
package org.libdwarfs;

import java.util.function.Consumer;

/** Reports the progress of operations, and cancels them from any thread. */
public final class Task implements AutoCloseable {
    private final Handle handle;
    private final Callback callback;

    /** A task that can only cancel. */
    public Task() throws DwarfsException {
        this(null);
    }

    /**
     * @param progress called regularly by the thread that runs the operation; an exception in it
     *     stops the operation, which throws it. After the last call, once all is done, there is
     *     nothing left to stop: what was written stays, and the operation throws all the same.
     *     May be null
     */
    public Task(Consumer<Progress> progress) throws DwarfsException {
        handle = new Handle("task", dwarfsJNI.dwarfs_task_new(),
            dwarfsJNI::delete_dwarfs_task);
        callback = progress == null ? null : new Callback() {
            @Override
            long run(long a, long b, byte[] text, byte[] data) {
                progress.accept(Progress.of(a));
                return 0;
            }
        };
        long reference = handle.reference(callback);
        handle.number(task -> {
            dwarfsJNI.dwarfs_task_set_progress(task, reference);
            return 0;
        });
    }

    /** Make operations that use this task, now or later, fail with CANCELLED. */
    public void cancel() {
        handle.number(task -> {
            dwarfsJNI.dwarfs_task_cancel(task);
            return 0;
        });
    }

    /** @return whether cancel() was called */
    public boolean isCancelled() {
        return handle.number(task -> dwarfsJNI.dwarfs_task_is_cancelled(task) ? 1 : 0) != 0;
    }

    /** Free it; operations that are running with it go on. */
    @Override
    public void close() {
        handle.close();
    }

    static long acquire(Task task) {
        return task == null ? 0 : task.handle.acquire();
    }

    static void release(Task task) {
        if (task != null) {
            task.handle.release();
        }
    }

    /** Throw what the last call of an operation that succeeded has thrown. */
    static void throwFailure(Task task) {
        Throwable thrown = task == null || task.callback == null ? null :
            task.callback.takeFailure();
        if (thrown instanceof Error) {
            throw (Error) thrown;
        }
        if (thrown != null) {
            throw (RuntimeException) thrown;
        }
    }

    static Callback callbackOf(Task task) {
        return task == null ? null : task.callback;
    }
}
