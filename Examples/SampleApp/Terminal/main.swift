import Foundation
import RemoteConfiguration
import SampleAppLogic

// The sample app in a terminal: the same store, without screens.
//
//     sample-terminal STORAGE [SERVER TRUST_ROOT]
//
// It draws the packaged data. With a server, it also refreshes once and draws again.

let arguments = Array(CommandLine.arguments.dropFirst())
guard [1, 3].contains(arguments.count) else {
    FileHandle.standardError.write(Data("usage: sample-terminal STORAGE [SERVER TRUST_ROOT]\n".utf8))
    exit(2)
}

func draw(_ store: SampleStore) async {
    print("== \(store.title)")
    for market in store.rows {
        let flag = market.hasFlag ? await store.flag(of: market) : nil
        print("\(market.id)  \(market.name)\(flag.map { ", a flag of \($0.count) bytes" } ?? "")")
    }
}

do {
    var settings = try SampleStore.packagedSettings()
    if arguments.count == 3 {
        settings.server = .custom(url: arguments[1])
        settings.trustRoots = try TrustAnchors(parsing: [arguments[2]])
    }
    let store = SampleStore(storage: arguments[0], settings: settings)
    await draw(store)
    if arguments.count == 3 {
        if let problem = await store.refresh() { print(problem) }
        await draw(store)
    }
} catch {
    FileHandle.standardError.write(Data("sample-terminal: \(error)\n".utf8))
    exit(1)
}
