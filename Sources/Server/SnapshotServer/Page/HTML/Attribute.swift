/// An attribute of an element. The set is closed: no attribute can run a script, and every URL is a ``PageLink``.
struct Attribute {
    let name: StaticString
    /// The value; `nil` for a boolean attribute.
    let value: String?

    private init(_ name: StaticString, _ value: String?) {
        self.name = name
        self.value = value
    }

    static func `class`(_ name: StaticString) -> Attribute { Attribute("class", "\(name)") }
    static func id(_ id: StaticString) -> Attribute { Attribute("id", "\(id)") }
    static func href(_ link: PageLink) -> Attribute { Attribute("href", link.text) }
    static func src(_ link: PageLink) -> Attribute { Attribute("src", link.text) }
    static func action(_ link: PageLink) -> Attribute { Attribute("action", link.text) }
    static func anchor(_ id: StaticString) -> Attribute { Attribute("href", "#\(id)") }
    static func role(_ role: StaticString) -> Attribute { Attribute("role", "\(role)") }
    static func scope(_ scope: StaticString) -> Attribute { Attribute("scope", "\(scope)") }
    static func labelledBy(_ id: StaticString) -> Attribute { Attribute("aria-labelledby", "\(id)") }
    static func ariaLabel(_ text: String) -> Attribute { Attribute("aria-label", text) }
    static func `for`(_ id: StaticString) -> Attribute { Attribute("for", "\(id)") }
    static func name(_ name: StaticString) -> Attribute { Attribute("name", "\(name)") }
    static func type(_ type: StaticString) -> Attribute { Attribute("type", "\(type)") }
    static func value(_ text: String) -> Attribute { Attribute("value", text) }
    static func content(_ text: StaticString) -> Attribute { Attribute("content", "\(text)") }
    static func alt(_ text: String) -> Attribute { Attribute("alt", text) }
    static func title(_ text: String) -> Attribute { Attribute("title", text) }
    static func datetime(_ text: String) -> Attribute { Attribute("datetime", text) }
    /// Returns the label that narrow screens show before the cell in place of the column heading.
    static func cellLabel(_ text: StaticString) -> Attribute { Attribute("data-label", "\(text)") }
    static func width(_ pixels: Int) -> Attribute { Attribute("width", "\(pixels)") }
    static func height(_ pixels: Int) -> Attribute { Attribute("height", "\(pixels)") }
    static func rel(_ text: StaticString) -> Attribute { Attribute("rel", "\(text)") }

    static let english = Attribute("lang", "en")
    static let utf8 = Attribute("charset", "utf-8")
    static let get = Attribute("method", "get")
    static let download = Attribute("download", nil)
    static let selected = Attribute("selected", nil)
    static let isCurrentPage = Attribute("aria-current", "page")
    static let loadsLate = Attribute("loading", "lazy")
    /// Makes a scrollable region reachable with the keyboard.
    static let focusable = Attribute("tabindex", "0")
    /// Lets the skip link move the focus here.
    static let focusTarget = Attribute("tabindex", "-1")
    /// Isolates text from the writing direction of the surrounding text.
    static let ownDirection = Attribute("dir", "auto")
}
