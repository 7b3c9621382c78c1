print("rsdump")
