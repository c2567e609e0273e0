"""What a run of `exitpath vet` executes: exitpath_vet_driver is found compiled beside it."""
import exitpath_vet_driver

exitpath_vet_driver.main()
