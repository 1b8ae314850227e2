module github.com/seed43908478/penstock

go 1.26
