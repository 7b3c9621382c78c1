import RemoteSettingsModel

/// The sample collections. All their contents are generated.
enum DemoSamples {
    static func collections(at time: Timestamp) -> [DemoCollection] {
        [settings(time), markets(time), icons(time), hints(time), large(time)]
    }

    private static func settings(_ time: Timestamp) -> DemoCollection {
        var collection = DemoCollection(name: "settings")
        collection.put("sync-interval", #""key":"sync-interval","value":24,"unit":"h""#, at: time)
        collection.put("dark-mode", #""key":"dark-mode","value":"system""#, at: time)
        collection.put("greeting", #""key":"greeting","value":"Grüße, 世界""#, at: time)
        collection.put("zoom", #""key":"zoom","value":1.25"#, at: time)
        return collection
    }

    private static func markets(_ time: Timestamp) -> DemoCollection {
        var collection = DemoCollection(name: "markets")
        for (code, name, side) in [
            ("AU", "Australia", "left"), ("BR", "Brazil", "right"), ("CH", "Switzerland", "right"),
            ("IN", "India", "left"), ("JP", "Japan", "left"), ("KE", "Kenya", "left"), ("NO", "Norway", "right"),
        ] {
            collection.put(
                code.lowercased(), #""code":"\#(code)","name":"\#(name)","drivesOnThe":"\#(side)""#, at: time)
        }
        collection.put("nowhere", #""code":"ZZ","name":"Nowhere","drivesOnThe":"middle""#, at: time)
        return collection
    }

    private static func icons(_ time: Timestamp) -> DemoCollection {
        var collection = DemoCollection(name: "icons", hasZip: true)
        for petals in 3...22 { addIcon(petals, to: &collection, at: time) }
        return collection
    }

    static func addIcon(_ petals: Int, to collection: inout DemoCollection, at time: Timestamp) {
        let name = "petals-\(petals < 10 ? "0" : "")\(petals)"
        collection.put(name, #""petals":\#(petals)"#, file: Bytes(utf8: svg(petals)), named: "\(name).svg", at: time)
    }

    private static func svg(_ petals: Int) -> String {
        let shapes = (0..<petals).map { petal in
            #"<ellipse cx="24" cy="16" rx="6" ry="2.5" transform="rotate(\#(360 * petal / petals) 16 16)"/>"#
        }
        return
            #"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="hsl(\#(petals * 17 % 360) 60% 45%)">"#
            + "<title>\(petals) petals</title>\(shapes.joined())</svg>\n"
    }

    private static func hints(_ time: Timestamp) -> DemoCollection {
        var collection = DemoCollection(name: "search-hints")
        let hints = [
            ("everywhere", "Type to search", ""),
            ("german", "Tippen, um zu suchen", "env.locale == 'de'"),
            ("new-versions", "Search by voice", "env.version|versionCompare('120.0') >= 0"),
            ("phones", "Search with one hand", "env.formFactor in ['phone', 'tablet']"),
        ]
        for (id, text, filter) in hints {
            collection.put(
                id, #""text":"\#(text)""# + (filter.isEmpty ? "" : #","filter_expression":"\#(filter)""#), at: time)
        }
        return collection
    }

    private static func large(_ time: Timestamp) -> DemoCollection {
        var collection = DemoCollection(name: "large")
        let words = ["amber", "birch", "cobalt", "dune", "ember", "fjord", "grove", "harbour", "inlet", "juniper"]
        // A linear congruential generator (Knuth, MMIX), so that the records vary, but are the same each time the
        // server starts.
        var state: UInt64 = 1
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        for number in 0..<1500 {
            let title = (0..<4).map { _ in words[next(words.count)] }.joined(separator: " ")
            collection.put(
                "r\(String(next(1 << 30), radix: 36))-\(number)",
                #""title":"\#(title)","rank":\#(next(1_000_000)),"checked":\#(next(2) == 0),"latitude":\#(next(180) - 90).5"#,
                at: time)
        }
        return collection
    }
}
