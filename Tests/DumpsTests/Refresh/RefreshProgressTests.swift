@testable import Dumps
import RemoteSettingsModel
import Testing

@Suite struct RefreshProgressTests {
    private static func id(_ number: Int) throws -> CollectionID { try CollectionID("main/c\(number)") }

    private static func planned(_ number: Int) throws -> PlannedCollection {
        PlannedCollection(
            settings: .init(id: try id(number), attachments: AttachmentRule()), action: .create, held: nil,
            serverTimestamp: nil)
    }

    /// Returns the progress after these events, in a refresh of collections that have no bundle yet.
    private static func refresh(of count: Int, _ events: RefreshEvent...) throws -> RefreshProgress {
        var progress = RefreshProgress()
        for event in [.planned(try (0..<count).map(planned))] + events { _ = progress.update(event) }
        return progress
    }

    @Test func progressShowsDownloadsFirst() throws {
        var progress = try Self.refresh(of: 30)
        for number in 0..<30 { _ = progress.update(.began(try Self.id(number))) }
        for number in 0..<10 { _ = progress.update(.packing(try Self.id(number))) }
        _ = progress.update(.downloading(try Self.id(29), files: 2, bytes: 4096))
        _ = progress.update(.received(try Self.id(29), bytes: 1024))
        let lines = progress.lines(received: 1024, at: .zero)
        #expect(lines.count == 14)
        #expect(lines[0].hasPrefix("main/c29 ") && lines[0].hasSuffix("0/2 files, 1.0 KiB of 4.0 KiB"), "\(lines[0])")
        #expect(lines[1].hasSuffix("contacting the server") && lines[12] == "… 18 more", "\(lines)")
    }

    @Test func progressCountsPackedOnce() throws {
        let (first, second) = (try Self.id(0), try Self.id(1))
        var progress = try Self.refresh(of: 2, .began(first), .began(second), .packing(first), .staged(first))
        #expect(progress.lines(received: 0, at: .zero).map { $0.contains("main/c0") } == [false, false])
        #expect(progress.lines(received: 0, at: .zero).last?.contains(" 1/2, ") == true)
        let line = progress.update(.finished(CollectionOutcome(try Self.planned(0), status: .created)))
        #expect(line == "main/c0: created")
        #expect(progress.lines(received: 0, at: .zero).last?.contains(" 1/2, ") == true)
        _ = progress.update(.finished(CollectionOutcome(try Self.planned(1), status: .failed)))
        #expect(progress.lines(received: 0, at: .zero).last?.contains(" 2/2, ") == true)
    }

    @Test func progressTimeLeft() throws {
        var progress = try Self.refresh(of: 2)
        func last(_ received: Int, _ seconds: Int) -> String {
            progress.lines(received: received, at: .seconds(seconds)).last ?? ""
        }
        _ = progress.update(.began(try Self.id(0)))
        _ = progress.update(.downloading(try Self.id(0), files: 1, bytes: 10_240))
        #expect(!last(0, 0).contains("/s"))
        // No time left is shown, because the other collection may need files, too.
        #expect(last(1024, 1).hasSuffix(", 1.0 KiB received, 1.0 KiB/s"))
        _ = progress.update(.began(try Self.id(1)))
        #expect(!last(2048, 2).contains("left"))
        _ = progress.update(.packing(try Self.id(1)))
        _ = progress.update(.received(try Self.id(0), bytes: 3072))
        #expect(last(3072, 3).hasSuffix(", 1.0 KiB/s, 7 s left"))
        // The speed is that of recent data, because a connection may become slow.
        _ = progress.update(.received(try Self.id(0), bytes: 7167))
        #expect(last(10_239, 4).hasSuffix(", 1 s left"))
        #expect(!last(10_239, 15).contains("/s"))
    }

    @Test func progressCountsRestartedDownloadOnce() throws {
        let id = try Self.id(0)
        var progress = try Self.refresh(of: 1, .began(id), .downloading(id, files: 1, bytes: 2048))
        for bytes in [1024, -1024, 512, .max, .max, .min] {
            _ = progress.update(.received(id, bytes: bytes))
            #expect(progress.lines(received: 0, at: .zero).count == 2)
        }
        #expect(progress.lines(received: 0, at: .zero)[0].contains("0 B of 2.0 KiB"))
    }
}
