/// Writes HTML and prevents markup injection.
///
/// Text from records cannot become markup: the names of elements and attributes are closed sets, and all text and
/// attribute values are escaped. Characters that could hide or reorder text are made visible (``HiddenCharacters``).
struct HTMLWriter {
    enum Tag: String {
        case a, body, button, caption, code, dd, del, details, div, dl, dt, figcaption, figure, footer, form, h1, h2,
            h3,
            head, header, html, ins, label, li, main, nav, option, p, pre, select, small, span, strong, summary, table,
            tbody, td, th, thead, time, title, tr, ul
    }

    /// Elements without content and without an end tag.
    enum VoidTag: String {
        case img, input, link, meta
    }

    private(set) var bytes: [UInt8] = []
    /// The document size at which the writer starts to omit content.
    private var end = Int.max
    /// Whether content was omitted.
    private var isCut = false

    /// Writes the start of a document in no-quirks mode.
    mutating func doctype() { raw("<!DOCTYPE html>\n") }

    /// Writes content of limited length. If it is longer, a note replaces the rest.
    ///
    /// - Parameter limit: the maximum size of the content in bytes, not including the end tags of its open elements.
    mutating func bounded(to limit: Int, content: (inout HTMLWriter) -> Void) {
        end = bytes.count + limit
        content(&self)
        end = .max
        if isCut { element(.p, text: "This page is too long; the rest is not shown.") }
    }

    private var isFull: Bool {
        mutating get {
            isCut = isCut || bytes.count >= end
            return isCut && end != .max
        }
    }

    mutating func element(_ tag: Tag, _ attributes: Attribute..., content: (inout HTMLWriter) -> Void) {
        if isFull { return }
        open(tag.rawValue, attributes)
        content(&self)
        raw("</", tag.rawValue, ">")
    }

    mutating func element(_ tag: Tag, _ attributes: Attribute..., text: String) {
        if isFull { return }
        open(tag.rawValue, attributes)
        self.text(text)
        raw("</", tag.rawValue, ">")
    }

    mutating func void(_ tag: VoidTag, _ attributes: Attribute...) {
        if !isFull { open(tag.rawValue, attributes) }
    }

    /// Writes a style sheet. The content of a style element is not escaped, so only a string literal is accepted.
    mutating func style(_ sheet: StaticString) { raw("<style>", "\(sheet)", "</style>") }

    /// Writes text, and makes its invisible characters visible.
    mutating func text(_ text: String) {
        // Escaping makes a string at most six times as long.
        let fits = text.utf8.count <= (end - bytes.count) / 6
        guard HiddenCharacters.occur(in: text) || !fits else { return escape(text.utf8) }
        HiddenCharacters.forEachCharacter(in: text) { scalar, isHidden in
            if isFull { return false }
            if isHidden {
                raw("<span class=\"hidden-character\">", HiddenCharacters.name(scalar), "</span>")
            } else {
                escape(String(scalar).utf8)
            }
            return true
        }
    }

    /// Writes a line feed, which keeps the document source readable.
    mutating func newline() { bytes.append(UInt8(ascii: "\n")) }

    private mutating func open(_ name: String, _ attributes: [Attribute]) {
        raw("<", name)
        for attribute in attributes {
            raw(" ", "\(attribute.name)")
            guard let value = attribute.value else { continue }
            raw("=\"")
            escape(HiddenCharacters.spelledOut(value).utf8)
            raw("\"")
        }
        raw(">")
    }

    private mutating func raw(_ parts: String...) {
        for part in parts { bytes.append(contentsOf: part.utf8) }
    }

    private mutating func escape(_ text: some Sequence<UInt8>) {
        for byte in text {
            switch byte {
            case UInt8(ascii: "&"): raw("&amp;")
            case UInt8(ascii: "<"): raw("&lt;")
            case UInt8(ascii: ">"): raw("&gt;")
            case UInt8(ascii: "\""): raw("&quot;")
            case UInt8(ascii: "'"): raw("&#39;")
            default: bytes.append(byte)
            }
        }
    }
}
