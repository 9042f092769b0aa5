// SPDX-License-Identifier: MIT
package org.libdwarfs.nio;

import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/** Patterns as {@link java.nio.file.FileSystem#getPathMatcher} defines them. */
final class Glob {
    private final String glob;
    private final StringBuilder regex = new StringBuilder();
    private int next;

    private Glob(String glob) {
        this.glob = glob;
    }

    static Pattern compile(String glob) {
        Glob parser = new Glob(glob);
        parser.parse();
        return Pattern.compile(parser.regex.toString(), Pattern.DOTALL);
    }

    private PatternSyntaxException error(String why) {
        return new PatternSyntaxException(why, glob, Math.max(0, next - 1));
    }

    private void parse() {
        boolean inGroup = false;
        while (next < glob.length()) {
            char c = glob.charAt(next++);
            switch (c) {
                case '*':
                    if (next < glob.length() && glob.charAt(next) == '*') {
                        next++;
                        regex.append(".*");
                    } else {
                        regex.append("[^/]*");
                    }
                    break;
                case '?':
                    regex.append("[^/]");
                    break;
                case '[':
                    parseSet();
                    break;
                case '\\':
                    if (next == glob.length()) {
                        throw error("nothing after \\");
                    }
                    quote(glob.charAt(next++));
                    break;
                case '{':
                    if (inGroup) {
                        throw error("groups cannot be nested");
                    }
                    inGroup = true;
                    regex.append("(?:(?:");
                    break;
                case '}':
                    regex.append(inGroup ? "))" : "\\}");
                    inGroup = false;
                    break;
                case ',':
                    regex.append(inGroup ? ")|(?:" : ",");
                    break;
                default:
                    quote(c);
            }
        }
        if (inGroup) {
            throw error("missing }");
        }
    }

    /** One character of a set or a range; never matches a slash. */
    private void parseSet() {
        regex.append("(?!/)[");
        if (next < glob.length() && glob.charAt(next) == '!') {
            regex.append('^');
            next++;
        }
        int first = next;
        while (next < glob.length() && (glob.charAt(next) != ']' || next == first)) {
            char c = glob.charAt(next++);
            if (c == '/') {
                throw error("a slash in a set");
            }
            boolean isRange = c == '-' && next - 1 > first && next < glob.length() &&
                glob.charAt(next) != ']';
            if (isRange) {
                regex.append('-');
            } else {
                quote(c);
            }
        }
        if (next == glob.length()) {
            throw error("missing ]");
        }
        next++;
        regex.append(']');
    }

    private void quote(char c) {
        if (c < 0x80 && !Character.isLetterOrDigit(c)) {
            regex.append('\\');
        }
        regex.append(c);
    }
}
