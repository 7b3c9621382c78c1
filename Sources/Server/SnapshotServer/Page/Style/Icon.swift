import RemoteSettingsModel

/// The web UI's icon: a stack of two sheets.
enum Icon {
    private static let text = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">\
        <rect x="4" y="3" width="19" height="24" rx="3" fill="#8fbcc7"/>\
        <rect x="9" y="6" width="19" height="24" rx="3" fill="#0a5a6e"/>\
        <path d="M13 13h11M13 18h11M13 23h7" stroke="#fff" stroke-width="2" stroke-linecap="round"/></svg>
        """

    static let answer = PageAnswer.file([.init("Content-Type", "image/svg+xml")], .bytes(Bytes(utf8: text)))
}
