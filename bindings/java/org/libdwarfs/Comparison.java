// SPDX-License-Identifier: MIT
package org.libdwarfs;

import java.io.IOException;
import java.lang.ref.Reference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Compares two trees, each of them an open image, or what is at a path: an image, a directory or
 * an archive.
 *
 * <pre>{@code
 * try (Comparison comparison = new Comparison()) {
 *     comparison.a(image).b(Path.of("photos")).ignore(Difference.Kind.MTIME);
 *     comparison.run(null).forEach(System.out::println);
 * }
 * }</pre>
 *
 * Several threads may use a comparison; their calls wait for each other.
 */
public final class Comparison implements AutoCloseable {
    private interface Call {
        void with(long compare) throws IOException;
    }

    private final Handle handle;
    private final Image[] images = new Image[2]; // have sources, which the library refers to weakly
    private boolean isRunning;

    /** A comparison with a context of its own. */
    public Comparison() throws DwarfsException {
        this(null);
    }

    /** @param context for workers and for opening images; null for an own one */
    public Comparison(Context context) throws DwarfsException {
        Handle shared = Context.handleOf(context);
        long pointer = shared == null ? 0 : shared.acquire();
        try {
            handle = new Handle("comparison", dwarfsJNI.dwarfs_compare_new(pointer),
                dwarfsJNI::delete_dwarfs_compare);
        } finally {
            if (shared != null) {
                shared.release();
            }
        }
        if (context != null) {
            handle.keep(context); // has the log, which the library refers to weakly
        }
    }

    private synchronized Comparison use(Call call) throws IOException {
        long pointer = handle.acquire();
        try {
            if (isRunning) {
                throw new IllegalStateException("a callback cannot use its comparison");
            }
            call.with(pointer);
            return this;
        } finally {
            handle.release();
        }
    }

    private Comparison set(int side, Image image) throws IOException {
        long pointer = image.handle().acquire();
        try {
            return use(compare -> {
                dwarfsJNI.dwarfs_compare_set_image(compare, side, pointer);
                images[side] = image;
            });
        } finally {
            image.handle().release();
        }
    }

    private Comparison set(int side, Path path) throws IOException {
        byte[] name = Names.ofSystem(path);
        return use(compare -> {
            dwarfsJNI.dwarfs_compare_set_path(compare, side, name, 0);
            images[side] = null;
        });
    }

    /**
     * @param image the first tree
     * @return this
     */
    public Comparison a(Image image) throws IOException {
        return set(dwarfsConstants.DWARFS_COMPARE_A, image);
    }

    /**
     * @param path the first tree, in the default file system; opened now
     * @return this
     */
    public Comparison a(Path path) throws IOException {
        return set(dwarfsConstants.DWARFS_COMPARE_A, path);
    }

    /**
     * @param image the second tree
     * @return this
     */
    public Comparison b(Image image) throws IOException {
        return set(dwarfsConstants.DWARFS_COMPARE_B, image);
    }

    /**
     * @param path the second tree, in the default file system; opened now
     * @return this
     */
    public Comparison b(Path path) throws IOException {
        return set(dwarfsConstants.DWARFS_COMPARE_B, path);
    }

    /**
     * @param kind not reported from now on; TROUBLE cannot be ignored
     * @return this
     */
    public Comparison ignore(Difference.Kind kind) throws IOException {
        return use(compare -> dwarfsJNI.dwarfs_compare_ignore(compare, kind.number));
    }

    /**
     * @param nanoseconds the resolution at which times are compared; a second by default
     * @return this
     */
    public Comparison timeResolution(long nanoseconds) throws IOException {
        return use(compare -> dwarfsJNI.dwarfs_compare_set_time_resolution(compare,
            Image.notNegative(nanoseconds)));
    }

    /**
     * Compare.
     *
     * @param task reports and cancels; may be null
     * @return the differences in the order of the paths; empty if the trees agree
     */
    public synchronized List<Difference> run(Task task) throws IOException {
        List<Difference> found = new ArrayList<>();
        Callback add = new Callback() {
            @Override
            long run(long kind, long difference, byte[] path, byte[] data) {
                found.add(Difference.of((int) kind, difference, path));
                return 0;
            }
        };
        long reference = dwarfsJNI.dwarfs_java_reference(add);
        try {
            use(compare -> {
                long watcher = Task.acquire(task);
                isRunning = true;
                try {
                    dwarfsJNI.dwarfs_compare_set_task(compare, watcher);
                    dwarfsJNI.dwarfs_compare_run(compare, reference);
                } finally {
                    isRunning = false;
                    dwarfsJNI.dwarfs_compare_set_task(compare, 0);
                    Task.release(task);
                }
            });
            Task.throwFailure(task);
        } catch (DwarfsException error) {
            throw Callback.explain(error, Task.callbackOf(task), add);
        } finally {
            dwarfsJNI.dwarfs_java_release(reference);
            Reference.reachabilityFence(add);
        }
        return found;
    }

    /** Free the comparison; a run of another thread is not stopped. */
    @Override
    public void close() {
        handle.close();
    }
}
