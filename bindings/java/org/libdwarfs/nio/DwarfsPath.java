// SPDX-License-Identifier: MIT
package org.libdwarfs.nio;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystemLoopException;
import java.nio.file.LinkOption;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.WatchEvent;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import org.libdwarfs.DwarfsException;
import org.libdwarfs.Entry;
import org.libdwarfs.Names;

/** A path in an image: names separated by single slashes. Relative ones start at the root. */
final class DwarfsPath implements Path {
    private static final int MAX_LINKS = 40;

    private final DwarfsFileSystem system;
    private final String path;
    /** What the path refers to, if a directory was listed to get it: an image never changes. */
    private final Entry entry;

    /** The names of the path; made when they are needed. */
    private volatile String[] names;

    DwarfsPath(DwarfsFileSystem system, String path, Entry entry) {
        this.system = system;
        this.path = path;
        this.entry = entry;
    }

    /** The path with a string, of which doubled and trailing slashes are removed. */
    static DwarfsPath of(DwarfsFileSystem system, String text) {
        Names.encode(text); // may throw
        StringBuilder clean = new StringBuilder(text.length());
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c != '/' || clean.length() == 0 || clean.charAt(clean.length() - 1) != '/') {
                clean.append(c);
            }
        }
        if (clean.length() > 1 && clean.charAt(clean.length() - 1) == '/') {
            clean.setLength(clean.length() - 1);
        }
        return new DwarfsPath(system, clean.toString(), null);
    }

    /** The path after "!/" in a URI, with the slash. */
    static String fromUri(URI uri) {
        String raw = uri.getRawSchemeSpecificPart();
        raw = raw.substring(raw.lastIndexOf("!/") + 1);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (int i = 0; i < raw.length(); i++) {
            if (raw.charAt(i) == '%') {
                bytes.write(Integer.parseInt(raw.substring(i + 1, i + 3), 16));
                i += 2;
            } else {
                int end = raw.offsetByCodePoints(i, 1); // two for a character beyond U+FFFF
                bytes.writeBytes(Names.encode(raw.substring(i, end)));
                i = end - 1;
            }
        }
        return Names.decode(bytes.toByteArray());
    }

    DwarfsPath child(String name, Entry entry) {
        String joined = path.isEmpty() ? name : path.endsWith("/") ? path + name :
            path + "/" + name;
        return new DwarfsPath(system, joined, entry);
    }

    /** What the path refers to; the last name may be a link that is not followed. */
    Entry entry(boolean follow) throws IOException {
        system.requireOpen();
        if (entry != null && (!follow || !entry.attributes().isLink())) {
            return entry;
        }
        if (follow) {
            return follow(path);
        }
        int slash = path.lastIndexOf('/');
        String last = path.substring(slash + 1);
        if (last.isEmpty() || last.equals(".") || last.equals("..")) {
            return follow(path);
        }
        return slash <= 0 ? system.image().root().get(last) :
            follow(path.substring(0, slash)).get(last);
    }

    private Entry follow(String followed) throws IOException {
        try {
            return system.image().findFollowed(followed);
        } catch (DwarfsException error) {
            if (error.code() == DwarfsException.Code.INVALID) {
                throw (IOException) new FileSystemLoopException(path).initCause(error);
            }
            throw error;
        }
    }

    private String[] names() {
        String[] all = names;
        if (all == null) {
            String relative = isAbsolute() ? path.substring(1) : path;
            all = path.equals("/") ? new String[0] : relative.split("/", -1);
            names = all;
        }
        return all;
    }

    /** As names(), but none for the empty path. */
    private String[] parts() {
        return path.isEmpty() ? new String[0] : names();
    }

    private DwarfsPath make(boolean absolute, List<String> parts) {
        return new DwarfsPath(system, (absolute ? "/" : "") + String.join("/", parts), null);
    }

    @Override
    public DwarfsFileSystem getFileSystem() {
        return system;
    }

    @Override
    public boolean isAbsolute() {
        return path.startsWith("/");
    }

    @Override
    public DwarfsPath getRoot() {
        return isAbsolute() ? system.root() : null;
    }

    @Override
    public DwarfsPath getFileName() {
        String[] all = names();
        return all.length == 0 ? null : all.length == 1 && !isAbsolute() ? this :
            new DwarfsPath(system, all[all.length - 1], null);
    }

    @Override
    public DwarfsPath getParent() {
        int slash = path.lastIndexOf('/');
        return slash > 0 ? new DwarfsPath(system, path.substring(0, slash), null) :
            slash == 0 && path.length() > 1 ? system.root() : null;
    }

    @Override
    public int getNameCount() {
        return names().length;
    }

    @Override
    public DwarfsPath getName(int index) {
        return subpath(index, index + 1);
    }

    @Override
    public DwarfsPath subpath(int begin, int end) {
        String[] all = names();
        if (begin < 0 || end > all.length || begin >= end) {
            throw new IllegalArgumentException("no names from " + begin + " to " + end);
        }
        return make(false, Arrays.asList(all).subList(begin, end));
    }

    @Override
    public boolean startsWith(Path other) {
        if (other.getFileSystem() != system || other.isAbsolute() != isAbsolute()) {
            return false;
        }
        String[] all = names();
        String[] start = ((DwarfsPath) other).names();
        if (((DwarfsPath) other).path.isEmpty()) {
            return path.isEmpty();
        }
        return start.length <= all.length &&
            Arrays.equals(all, 0, start.length, start, 0, start.length);
    }

    @Override
    public boolean endsWith(Path other) {
        if (other.getFileSystem() != system) {
            return false;
        }
        String[] all = names();
        String[] end = ((DwarfsPath) other).names();
        if (other.isAbsolute()) {
            return equals(other);
        }
        if (((DwarfsPath) other).path.isEmpty()) {
            return path.isEmpty();
        }
        return end.length <= all.length && Arrays.equals(all, all.length - end.length,
            all.length, end, 0, end.length);
    }

    @Override
    public DwarfsPath normalize() {
        Deque<String> kept = new ArrayDeque<>();
        for (String name : names()) {
            boolean canGoUp = !kept.isEmpty() && !kept.getLast().equals("..");
            if (name.equals("..") && canGoUp) {
                kept.removeLast();
            } else if (!name.equals(".") && !(name.equals("..") && isAbsolute())) {
                kept.addLast(name);
            }
        }
        return make(isAbsolute(), new ArrayList<>(kept));
    }

    @Override
    public DwarfsPath resolve(Path other) {
        DwarfsPath more = DwarfsFileSystemProvider.own(other);
        if (more.isAbsolute() || path.isEmpty() && more.system == system) {
            return more;
        }
        return more.path.isEmpty() ? this : child(more.path, null);
    }

    @Override
    public DwarfsPath relativize(Path other) {
        DwarfsPath target = DwarfsFileSystemProvider.own(other);
        if (target.system != system) {
            throw new IllegalArgumentException("the paths are of different images");
        }
        if (target.isAbsolute() != isAbsolute()) {
            throw new IllegalArgumentException("only one of the paths is absolute");
        }
        if (path.isEmpty()) {
            return target;
        }
        String[] from = normalize().parts();
        String[] to = target.normalize().parts();
        int common = 0;
        while (common < from.length && common < to.length && from[common].equals(to[common])) {
            common++;
        }
        List<String> parts = new ArrayList<>();
        for (int i = common; i < from.length; i++) {
            if (from[i].equals("..")) {
                throw new IllegalArgumentException("unknown names for .. of the path");
            }
            parts.add("..");
        }
        parts.addAll(Arrays.asList(to).subList(common, to.length));
        return make(false, parts);
    }

    /** dwarfs:URI!/path, with all bytes that are not plain as %XX. */
    @Override
    public URI toUri() {
        StringBuilder uri = new StringBuilder("dwarfs:")
            .append(system.file().toUri().toString()).append('!');
        for (byte b : Names.encode(toAbsolutePath().path)) {
            char c = (char) (b & 0xff);
            boolean isPlain = c < 0x80 &&
                (Character.isLetterOrDigit(c) || "/-._~".indexOf(c) >= 0);
            uri.append(isPlain ? String.valueOf(c) : String.format("%%%02X", (int) c));
        }
        return URI.create(uri.toString());
    }

    @Override
    public DwarfsPath toAbsolutePath() {
        return isAbsolute() ? this : new DwarfsPath(system, "/" + path, entry);
    }

    @Override
    public DwarfsPath toRealPath(LinkOption... options) throws IOException {
        boolean follow = !Arrays.asList(options).contains(LinkOption.NOFOLLOW_LINKS);
        return Failures.of(this, () -> resolveLinks(follow));
    }

    /** Name by name, as the image is looked up. */
    private DwarfsPath resolveLinks(boolean followLast) throws IOException {
        system.requireOpen();
        Deque<String> left = new ArrayDeque<>(Arrays.asList(names()));
        Deque<Entry> found = new ArrayDeque<>(List.of(system.image().root()));
        List<String> real = new ArrayList<>();
        int links = 0;
        while (!left.isEmpty()) {
            String name = left.removeFirst();
            if (name.isEmpty()) {
                continue;
            }
            if (name.equals(".") || name.equals("..")) {
                if (!found.getLast().attributes().isDirectory()) {
                    throw new NotDirectoryException(path);
                }
                if (name.equals("..") && !real.isEmpty()) {
                    real.remove(real.size() - 1);
                    found.removeLast();
                }
                continue;
            }
            Entry next = found.getLast().get(name);
            if (next.attributes().isLink() && (followLast || !left.isEmpty())) {
                if (++links > MAX_LINKS) {
                    throw new FileSystemLoopException(path);
                }
                String target = next.linkTarget();
                if (target.endsWith("/")) {
                    left.addFirst("."); // it must be a directory
                }
                String[] parts = target.split("/");
                for (int i = parts.length - 1; i >= 0; i--) {
                    left.addFirst(parts[i]);
                }
                if (target.startsWith("/")) {
                    real.clear();
                    found.clear();
                    found.add(system.image().root());
                }
            } else {
                real.add(name);
                found.addLast(next);
            }
        }
        return new DwarfsPath(system, "/" + String.join("/", real), found.getLast());
    }

    @Override
    public WatchKey register(WatchService watcher, WatchEvent.Kind<?>[] events,
                             WatchEvent.Modifier... modifiers) {
        throw new UnsupportedOperationException("an image never changes");
    }

    @Override
    public Iterator<Path> iterator() {
        List<Path> all = new ArrayList<>();
        for (String name : names()) {
            all.add(new DwarfsPath(system, name, null));
        }
        return all.iterator();
    }

    /** By the text, and paths of several images by the order in which these were opened. */
    @Override
    public int compareTo(Path other) {
        DwarfsPath own = (DwarfsPath) other;
        int order = path.compareTo(own.path);
        return order != 0 ? order : Long.compare(system.device(), own.system.device());
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof DwarfsPath && ((DwarfsPath) other).system == system &&
            ((DwarfsPath) other).path.equals(path);
    }

    @Override
    public int hashCode() {
        return path.hashCode();
    }

    @Override
    public String toString() {
        return path;
    }
}
