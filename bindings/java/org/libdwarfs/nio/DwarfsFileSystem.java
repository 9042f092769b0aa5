// SPDX-License-Identifier: MIT
package org.libdwarfs.nio;

import java.io.Closeable;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.ClosedFileSystemException;
import java.nio.file.FileStore;
import java.nio.file.FileSystem;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.nio.file.WatchService;
import java.nio.file.attribute.UserPrincipalLookupService;
import java.nio.file.spi.FileSystemProvider;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import org.libdwarfs.Context;
import org.libdwarfs.Image;

/** An open image as a file system. */
final class DwarfsFileSystem extends FileSystem {
    private static final AtomicLong DEVICES = new AtomicLong();

    private final DwarfsFileSystemProvider provider;
    private final Path file;
    private final Image image;
    private final long device = DEVICES.incrementAndGet();
    private final DwarfsPath root = new DwarfsPath(this, "/", null);
    private final DwarfsFileStore store = new DwarfsFileStore(this);

    /** Streams and channels that are in use somewhere. */
    private final Set<Closeable> kept =
        Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

    private DwarfsFileSystem(DwarfsFileSystemProvider provider, Path file, Image image) {
        this.provider = provider;
        this.file = file;
        this.image = image;
    }

    static DwarfsFileSystem open(DwarfsFileSystemProvider provider, Path file,
                                 Map<String, ?> env) throws IOException {
        Image.Options options = new Image.Options();
        Context context = null;
        Context own = null;
        String unknown = null;
        try {
            for (Map.Entry<String, ?> option : env.entrySet()) {
                switch (option.getKey()) {
                    case "offset":
                        options.offset(number(option, Long.MAX_VALUE));
                        break;
                    case "context":
                        if (option.getValue() != null && !(option.getValue() instanceof Context)) {
                            throw invalid(option, "a Context", null);
                        }
                        context = (Context) option.getValue();
                        break;
                    case "cacheBytes":
                        own = own == null ? new Context() : own;
                        own.cacheBytes(number(option, Long.MAX_VALUE));
                        break;
                    case "workers":
                        own = own == null ? new Context() : own;
                        own.workers((int) number(option, Integer.MAX_VALUE));
                        break;
                    default:
                        unknown = option.getKey();
                }
            }
            if (context != null && own != null) {
                throw new IllegalArgumentException(
                    "context, and cacheBytes or workers, which are settings of another one");
            }
            Image image = Image.open(file, options.context(own == null ? context : own));
            if (unknown != null) { // may be an option of another provider, for another format
                image.close();
                throw new IllegalArgumentException("unknown option " + unknown);
            }
            return new DwarfsFileSystem(provider, file, image);
        } finally {
            if (own != null) {
                own.close(); // the image keeps it
            }
        }
    }

    /** A whole number from 0 to a limit. */
    private static long number(Map.Entry<String, ?> option, long most) {
        try {
            long number = new BigDecimal(String.valueOf(option.getValue())).longValueExact();
            if (number >= 0 && number <= most) {
                return number;
            }
        } catch (ArithmeticException | NumberFormatException error) {
            throw invalid(option, "a whole number", error);
        }
        throw invalid(option, "a number from 0 to " + most, null);
    }

    private static IllegalArgumentException invalid(Map.Entry<String, ?> option, String wanted,
                                                    Exception cause) {
        return new IllegalArgumentException("option " + option.getKey() + ": " + wanted +
            " is needed, not " + option.getValue(), cause);
    }

    Path file() {
        return file;
    }

    Image image() {
        return image;
    }

    /** A number that no other file system of this process has. */
    long device() {
        return device;
    }

    DwarfsFileStore store() {
        return store;
    }

    DwarfsPath root() {
        return root;
    }

    @Override
    public FileSystemProvider provider() {
        return provider;
    }

    /** Closes its streams and channels, too. */
    @Override
    public void close() throws IOException {
        provider.forget(this);
        image.close();
        List<Closeable> left;
        synchronized (kept) {
            left = new ArrayList<>(kept);
            kept.clear();
        }
        IOException failure = null;
        for (Closeable closeable : left) {
            try {
                closeable.close();
            } catch (IOException e) {
                if (failure == null) {
                    failure = e;
                } else {
                    failure.addSuppressed(e);
                }
            }
        }
        if (failure != null) {
            throw failure;
        }
    }

    /** Let a stream or a channel be closed with the file system. */
    <T extends Closeable> T keep(T closeable) throws IOException {
        kept.add(closeable);
        if (!isOpen()) {
            closeable.close();
            throw new ClosedFileSystemException();
        }
        return closeable;
    }

    @Override
    public boolean isOpen() {
        return image.isOpen();
    }

    @Override
    public boolean isReadOnly() {
        return true;
    }

    @Override
    public String getSeparator() {
        return "/";
    }

    @Override
    public Iterable<Path> getRootDirectories() {
        return List.of(root);
    }

    @Override
    public Iterable<FileStore> getFileStores() {
        return List.of(store);
    }

    @Override
    public Set<String> supportedFileAttributeViews() {
        return Set.of("basic", "posix", "owner", "unix", "user");
    }

    @Override
    public Path getPath(String first, String... more) {
        StringBuilder joined = new StringBuilder(first);
        for (String name : more) {
            if (!name.isEmpty()) {
                joined.append(joined.length() > 0 ? "/" : "").append(name);
            }
        }
        return DwarfsPath.of(this, joined.toString());
    }

    @Override
    public PathMatcher getPathMatcher(String syntaxAndPattern) {
        int colon = syntaxAndPattern.indexOf(':');
        if (colon <= 0) {
            throw new IllegalArgumentException("no syntax before a colon: " + syntaxAndPattern);
        }
        String syntax = syntaxAndPattern.substring(0, colon);
        String text = syntaxAndPattern.substring(colon + 1);
        Pattern pattern;
        if (syntax.equalsIgnoreCase("glob")) {
            pattern = Glob.compile(text);
        } else if (syntax.equalsIgnoreCase("regex")) {
            pattern = Pattern.compile(text);
        } else {
            throw new UnsupportedOperationException("syntax " + syntax);
        }
        return path -> pattern.matcher(path.toString()).matches();
    }

    @Override
    public UserPrincipalLookupService getUserPrincipalLookupService() {
        return new Principals();
    }

    @Override
    public WatchService newWatchService() {
        throw new UnsupportedOperationException("an image never changes");
    }

    void requireOpen() {
        if (!isOpen()) {
            throw new ClosedFileSystemException();
        }
    }
}
